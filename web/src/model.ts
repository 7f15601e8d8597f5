import { at } from "./at";
import type { PageBody, PageConnection, PageData, PageJoint } from "./data";
import { clock, shown } from "./format";
import { unpackWords } from "./motion/words";
import type { Store } from "./store";

/** The page's data with what every part of the page asks of it. Links are the joints of the tree, then the loops. */
export class Model {
  readonly links: readonly PageJoint[];
  /** name of each body in a shape that is safe in a line */
  readonly names: readonly string[];
  /** for each body the joint whose child it is, null for none */
  private readonly jointOf: readonly (number | null)[];
  /** for each body the joints whose parent it is */
  private readonly jointsBelow: readonly (readonly number[])[];
  private readonly spans: readonly (PageConnection | null)[];
  private readonly loopNames: readonly string[];

  constructor(readonly data: PageData) {
    this.links = [...data.joints, ...data.loops];
    this.names = data.bodies.map((body) => shown(body.name));
    const joints = data.joints.map((joint, number) => ({ joint, number }));
    this.jointOf = data.bodies.map((_, b) => joints.findLast(({ joint }) => joint.child === b)?.number ?? null);
    this.jointsBelow = data.bodies.map((_, b) =>
      joints.filter(({ joint }) => joint.parent === b).map(({ number }) => number),
    );
    this.spans = this.links.map((link, l) => data.connections.find((span) => this.isSpanOf(span, link, l)) ?? null);
    this.loopNames = this.namesOfLoops();
  }

  /** [m] of a joint as it was recorded, evenly over the shown frames, 0 where it is as it is now; null: nowhere. */
  recorded(link: number): Float32Array | null {
    const found = this.data.recorded.find(({ joint }) => joint === link);
    return found === undefined ? null : unpackWords(found.values, found.step);
  }

  get bodies(): readonly PageBody[] {
    return this.data.bodies;
  }

  body(body: number): PageBody {
    return at(this.data.bodies, body);
  }

  name(body: number): string {
    return at(this.names, body);
  }

  link(link: number): PageJoint {
    return at(this.links, link);
  }

  isLoop(link: number): boolean {
    return link >= this.data.joints.length;
  }

  /** "l_shank" for a joint of the tree, "l_hand – r_hand" for a loop; with its beginning where a pair has several. */
  linkName(link: number): string {
    return this.isLoop(link) ? at(this.loopNames, link - this.data.joints.length) : this.name(this.link(link).child);
  }

  /** When a link holds, null for always or not told. */
  span(link: number): PageConnection | null {
    return at(this.spans, link);
  }

  /** The joint whose child this body is, null for none. */
  ownJoint(body: number): number | null {
    return at(this.jointOf, body);
  }

  /** Joints of the tree at a body, its own first. */
  jointsAt(body: number): readonly number[] {
    const own = this.ownJoint(body);
    const below = at(this.jointsBelow, body);
    return own === null ? below : [own, ...below];
  }

  /** The joint that comes apart most, null where there is none. */
  get worst(): number | null {
    return this.worstOf([...this.data.joints.keys()]);
  }

  /** The link to show for a body: its own, else the worst that hangs on it. */
  linkOf(body: number): number | null {
    return this.ownJoint(body) ?? this.worstOf(at(this.jointsBelow, body));
  }

  /** The one of these links that comes apart most, the first of equals. */
  private worstOf(links: readonly number[]): number | null {
    let worst: number | null = null;
    for (const link of links) {
      if (worst === null || this.link(link).residual > this.link(worst).residual) worst = link;
    }
    return worst;
  }

  private isSpanOf(span: PageConnection, link: PageJoint, number: number): boolean {
    if (!this.isLoop(number)) return span.joint === number;
    const same = span.joint === null && span.child === link.child && span.parent === link.parent;
    return same && span.p_child_joint.every((value, x) => value === link.p_child_joint[x]);
  }

  private namesOfLoops(): string[] {
    const pairs = this.data.loops.map(({ child, parent }) => `${this.name(child)} – ${this.name(parent)}`);
    return pairs.map((pair, l) => {
      const span = this.span(this.data.joints.length + l);
      return span !== null && pairs.filter((other) => other === pair).length > 1
        ? `${pair}, ${clock(span.start, 1)}`
        : pair;
    });
  }
}

export function selectBody(store: Store, model: Model, body: number | null): void {
  store.set({ body, link: body === null ? null : model.linkOf(body) });
}

export function selectLink(store: Store, model: Model, link: number): void {
  store.set({ body: model.link(link).child, link });
}
