import type { PageBody, PageConnection, PageData, PageJoint } from "./data";
import { clock, shown } from "./format";
import type { Store } from "./store";

/** The page's data with what every part of the page asks of it. Links are the joints of the tree, then the loops. */
export class Model {
  readonly links: readonly PageJoint[];
  /** name of each body in a shape that is safe in a line */
  readonly names: readonly string[];
  /** link whose child is this body, -1 for none */
  readonly own: Int32Array;
  /** links of the tree at each body, its own first */
  readonly at: readonly (readonly number[])[];

  /** when each link holds, null for always or not told */
  readonly spans: readonly (PageConnection | null)[];
  private readonly loopNames: readonly string[];

  constructor(readonly data: PageData) {
    this.links = [...data.joints, ...data.loops];
    this.names = data.bodies.map((body) => shown(body.name));
    this.own = new Int32Array(data.bodies.length).fill(-1);
    data.joints.forEach((joint, j) => (this.own[joint.child] = j));
    this.spans = this.links.map((link, l) => data.connections.find((span) => this.isSpanOf(span, link, l)) ?? null);
    this.loopNames = this.namesOfLoops();
    this.at = data.bodies.map((_, b) => {
      const below = data.joints.flatMap((joint, j) => (joint.parent === b ? [j] : []));
      return this.own[b] >= 0 ? [this.own[b], ...below] : below;
    });
  }

  get bodies(): readonly PageBody[] {
    return this.data.bodies;
  }

  isLoop(link: number): boolean {
    return link >= this.data.joints.length;
  }

  /** "l_shank" for a joint of the tree, "l_hand – r_hand" for a loop; with its beginning where a pair has several. */
  linkName(link: number): string {
    return this.isLoop(link) ? this.loopNames[link - this.data.joints.length] : this.names[this.links[link].child];
  }

  private isSpanOf(span: PageConnection, link: PageJoint, number: number): boolean {
    if (!this.isLoop(number)) return span.joint === number;
    const same = span.joint === null && span.child === link.child && span.parent === link.parent;
    return same && span.p_child_joint.every((value, x) => value === link.p_child_joint[x]);
  }

  private namesOfLoops(): string[] {
    const pairs = this.data.loops.map(({ child, parent }) => `${this.names[child]} – ${this.names[parent]}`);
    return pairs.map((pair, l) => {
      const span = this.spans[this.data.joints.length + l];
      return span !== null && pairs.filter((other) => other === pair).length > 1
        ? `${pair}, ${clock(span.start, 1)}`
        : pair;
    });
  }

  /** The joint that comes apart most, -1 where there is none. */
  get worst(): number {
    let worst = -1;
    this.data.joints.forEach((joint, j) => {
      if (worst < 0 || joint.residual > this.data.joints[worst].residual) worst = j;
    });
    return worst;
  }

  /** The link to show for a body: its own, else the worst that hangs on it. */
  linkOf(body: number): number | null {
    if (this.own[body] >= 0) return this.own[body];
    const below = this.at[body].reduce(
      (a, b) => (a < 0 || this.links[b].residual > this.links[a].residual ? b : a),
      -1,
    );
    return below >= 0 ? below : null;
  }
}

export function selectBody(store: Store, model: Model, body: number | null): void {
  store.set({ body, link: body === null ? null : model.linkOf(body) });
}

export function selectLink(store: Store, model: Model, link: number): void {
  store.set({ body: model.links[link].child, link });
}
