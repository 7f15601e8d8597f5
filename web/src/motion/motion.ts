import { at } from "../at";
import type { PageMotion } from "../data";
import type { Model } from "../model";
import { fromBase64, inflate, type Packing, type Poses, unpack } from "./unpack";

/** Unpacked poses that are kept; what was used least lately is dropped and unpacked again when needed. */
export const KEPT_BYTES = 96 * 2 ** 20;

/** Time between two drawings of plots while pieces arrive. */
const PATIENCE_MS = 800;

/**
 * The motion as the page holds it. Times, gaps and weights of every frame stay (a few bytes each); poses are unpacked
 * piece by piece around the scrubber, so that a long take of many bodies fits.
 */
export class Motion {
  /** [s], NaN until the piece is there */
  readonly time: Float64Array;
  private readonly gaps: readonly Float32Array[];
  private readonly weights: readonly Uint8Array[];
  /** what went wrong with a piece, null while nothing did */
  failure: string | null = null;
  private readonly arrived: Uint8Array;
  private readonly kept = new Map<number, Poses>();
  private readonly wanted = new Map<number, Promise<Poses>>();
  private readonly packing: Packing;
  private readonly fixed: ReadonlySet<number>;
  private readonly listeners: ((fresh: boolean) => void)[] = [];
  private readonly most: number;

  constructor(
    readonly page: PageMotion,
    model: Model,
    private readonly bytes: (piece: number) => Promise<Uint8Array<ArrayBuffer>>,
  ) {
    this.packing = { bodies: model.bodies.length, motion: page, joints: model.data.joints, links: model.links };
    this.fixed = new Set(model.bodies.flatMap((body, b) => (body.world ? [b] : [])));
    this.time = new Float64Array(page.frames).fill(NaN);
    this.gaps = model.links.map(() => new Float32Array(page.frames).fill(NaN));
    this.weights = model.links.map(() => new Uint8Array(page.frames));
    this.arrived = new Uint8Array(page.pieces.length);
    const perFrame = model.bodies.length * 58;
    const longest = Math.max(1, ...page.pieces.map((piece) => piece.frames));
    this.most = Math.max(3, Math.floor(KEPT_BYTES / Math.max(1, perFrame * longest)));
  }

  get frames(): number {
    return this.page.frames;
  }

  /** Share of pieces that have arrived. */
  get progress(): number {
    return this.arrived.length ? this.arrived.reduce((a, b) => a + b, 0) / this.arrived.length : 1;
  }

  /** Runs `run` whenever a piece was unpacked; `fresh` where it was the first time. */
  onArrival(run: (fresh: boolean) => void): void {
    this.listeners.push(run);
  }

  /** Runs `run` when there are more times and gaps to draw: now and then while pieces arrive, and when all have. */
  onMore(run: () => void): void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const now = (): void => {
      clearTimeout(timer);
      timer = undefined;
      run();
    };
    this.onArrival((fresh) => {
      if (!fresh) return;
      if (this.progress === 1) now();
      else timer ??= setTimeout(now, PATIENCE_MS);
    });
  }

  pieceOf(frame: number): number {
    const { pieces } = this.page;
    let low = 0;
    let high = pieces.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (at(pieces, middle).first <= frame) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Poses around a frame, or null while they are on their way. */
  poses(frame: number): Poses | null {
    if (this.frames === 0) return null;
    const piece = this.pieceOf(frame);
    const poses = this.kept.get(piece);
    if (poses === undefined) {
      void this.load(piece);
      return null;
    }
    this.kept.delete(piece);
    this.kept.set(piece, poses);
    const next = piece + 1;
    if (frame - poses.first > poses.frames / 2 && next < this.page.pieces.length && !this.kept.has(next))
      void this.load(next);
    return poses;
  }

  /** The first frame of the first piece in which as many bodies are there as ever in it; unpacks that piece. */
  async firstFrame(): Promise<number> {
    let poses: Poses;
    try {
      poses = await this.load(0);
    } catch {
      return 0; // told by `failure`
    }
    const m = this.packing.bodies;
    let [best, most] = [0, -1];
    for (let k = 0; k < poses.frames; k++) {
      let there = 0;
      for (let i = k * m; i < (k + 1) * m; i++) there += 2 * (poses.known[i] ?? 0) + (poses.seen[i] ?? 0);
      if (there > most) [best, most] = [k, there];
    }
    return poses.first + best;
  }

  /** Unpacks every piece once, so that times and gaps are complete; yields to the page in between. */
  async loadAll(): Promise<void> {
    for (let piece = 0; piece < this.page.pieces.length; piece++) {
      if (this.arrived[piece]) continue;
      try {
        await this.load(piece);
      } catch {
        continue; // told by `failure`; the other pieces may be whole
      }
      await new Promise((resume) => setTimeout(resume, 0));
    }
  }

  /** Places of all bodies in a frame, as played where known, else as measured; x, y, z one after the other. */
  pointsAt(frame: number): number[] {
    const poses = this.poses(frame);
    const m = this.packing.bodies;
    const points: number[] = [];
    for (let b = 0; poses !== null && b < m; b++) {
      const i = (frame - poses.first) * m + b;
      const p = poses.known[i] ? poses.playedP : poses.seen[i] ? poses.p : null;
      if (p !== null && !this.fixed.has(b)) points.push(...p.subarray(i * 3, i * 3 + 3));
    }
    return points;
  }

  /** The frame at or before a time [s], among those that have arrived. */
  frameAt(seconds: number): number {
    let low = 0;
    let high = this.frames - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.timeAt(middle) <= seconds) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** [s] of a frame, told from the rate where its piece has not arrived. */
  timeAt(frame: number): number {
    const time = this.time[frame] ?? NaN;
    return Number.isNaN(time) ? this.guess(frame) : time;
  }

  /** Whether the piece that holds a frame has arrived. */
  hasArrived(frame: number): boolean {
    return !Number.isNaN(this.time[frame] ?? NaN);
  }

  /** [m] of a link over frames; NaN where not known or not yet there. */
  gap(link: number): Float32Array {
    return at(this.gaps, link);
  }

  /** Of a link over frames; 0 where a frame did not count or is not yet there. */
  weight(link: number): Uint8Array {
    return at(this.weights, link);
  }

  get start(): number {
    return this.timeAt(0);
  }

  get end(): number {
    return this.timeAt(this.frames - 1);
  }

  private guess(frame: number): number {
    const { breaks, starts, rate } = this.page;
    let recording = 0;
    while ((breaks[recording] ?? Infinity) <= frame) recording++;
    const since = frame - (breaks[recording - 1] ?? 0);
    return (starts[recording] ?? 0) + since / (rate || 1);
  }

  private load(piece: number): Promise<Poses> {
    const waiting = this.wanted.get(piece);
    if (waiting) return waiting;
    const promise = this.unpacked(piece);
    this.wanted.set(piece, promise);
    promise.then(
      () => this.wanted.delete(piece),
      (error: unknown) => {
        // Left among the wanted ones, so that it is not asked for again sixty times a second.
        this.failure = error instanceof Error ? error.message : String(error);
        for (const run of this.listeners) run(false);
      },
    );
    return promise;
  }

  private async unpacked(number: number): Promise<Poses> {
    const { first, frames } = at(this.page.pieces, number);
    const poses = unpack(await inflate(await this.bytes(number)), first, frames, this.packing);
    this.kept.set(number, poses);
    for (const old of this.kept.keys()) {
      if (this.kept.size <= this.most) break;
      if (old !== number) this.kept.delete(old);
    }
    const fresh = !this.arrived[number];
    if (fresh) {
      this.arrived[number] = 1;
      this.time.set(poses.time, first);
      this.gaps.forEach((gap, j) => gap.set(poses.gap.subarray(j * frames, (j + 1) * frames), first));
      this.weights.forEach((weight, j) => weight.set(poses.weight.subarray(j * frames, (j + 1) * frames), first));
    }
    for (const run of this.listeners) run(fresh);
    return poses;
  }
}

/** The packed bytes of a piece: inside the page, or fetched from the server that the page came from. */
export function bytesOf(page: PageMotion): (piece: number) => Promise<Uint8Array<ArrayBuffer>> {
  return async (number) => {
    const { data, url } = at(page.pieces, number);
    if (data !== "") return fromBase64(data);
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`piece ${number} was not sent: ${answer.status}`);
    return new Uint8Array(await answer.arrayBuffer());
  };
}
