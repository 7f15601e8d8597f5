import { at } from "../at";
import type { Model } from "../model";
import { rotate } from "../motion/quaternion";
import type { Poses } from "../motion/unpack";
import type { MotionView } from "../motion/view";
import type { Vector } from "../vector";

/** Frames that are there: the one that is shown, and the next one, which is written meanwhile. */
const SLOTS = 2;

/** What comes in, as a motion of two frames that are written in turn. Bodies are turned as they are measured, and the
 * figure is put together from its joints. */
export class LiveMotion implements MotionView {
  readonly page: MotionView["page"];
  private readonly slots: Poses;
  private readonly columns: readonly number[];
  private readonly gaps = new Float32Array(SLOTS).fill(NaN);
  private readonly weights = new Uint8Array(SLOTS).fill(1);
  private readonly markers: Float32Array[] = Array.from({ length: SLOTS }, () => new Float32Array(0));

  /** names: of the bodies whose poses come in */
  constructor(
    private readonly model: Model,
    private readonly names: readonly string[],
    room: { readonly up: string | null; readonly low: Vector; readonly high: Vector },
  ) {
    const m = model.bodies.length;
    this.page = { up: room.up, origin: [0, 0, 0], low: room.low, high: room.high, rate: 30, breaks: [] };
    this.columns = model.bodies.map((body) => names.indexOf(body.name));
    const numbers = (width: number): Float32Array => new Float32Array(SLOTS * m * width);
    this.slots = {
      first: 0,
      frames: SLOTS,
      time: new Float64Array(SLOTS),
      seen: new Uint8Array(SLOTS * m),
      known: new Uint8Array(SLOTS * m),
      p: numbers(3),
      q: numbers(4),
      playedP: numbers(3),
      playedQ: numbers(4),
      gap: new Float32Array(0),
      weight: new Uint8Array(0),
    };
  }

  /** Writes a frame: place and quaternion of every body that comes in, then the place of every marker. */
  write(frame: number, time: number, values: Float32Array): void {
    const { slots } = this;
    const m = this.model.bodies.length;
    slots.time[frame] = time;
    this.markers[frame] = values.subarray(this.names.length * 7);
    for (let b = 0; b < m; b++) {
      const from = at(this.columns, b) * 7;
      const i = frame * m + b;
      const there = from >= 0 && Number.isFinite(values[from]) && Number.isFinite(values[from + 3]);
      slots.seen[i] = there ? 1 : 0;
      slots.known[i] = slots.seen[i];
      if (!there) continue;
      slots.p.set(values.subarray(from, from + 3), i * 3);
      slots.q.set(values.subarray(from + 3, from + 7), i * 4);
    }
    this.play(frame);
  }

  /** Roots stay where they are measured; every other body hangs on its joint. */
  private play(frame: number): void {
    const { slots } = this;
    const first = frame * this.model.bodies.length;
    const last = first + this.model.bodies.length;
    slots.playedQ.set(slots.q.subarray(first * 4, last * 4), first * 4);
    slots.playedP.set(slots.p.subarray(first * 3, last * 3), first * 3);
    const up: [number, number, number] = [0, 0, 0];
    const down: [number, number, number] = [0, 0, 0];
    for (const { child, parent, p_child_joint, p_parent_joint } of this.model.data.joints) {
      const c = first + child;
      const a = first + parent;
      if (!slots.known[a]) slots.known[c] = 0;
      if (!slots.known[c]) continue;
      rotate(slots.q, a * 4, p_parent_joint, up);
      rotate(slots.q, c * 4, p_child_joint, down);
      for (let x = 0; x < 3; x++) {
        slots.playedP[c * 3 + x] = (slots.playedP[a * 3 + x] ?? NaN) + (up[x] ?? NaN) - (down[x] ?? NaN);
      }
    }
  }

  poses(): Poses {
    return this.slots;
  }

  pointsAt(frame: number): number[] {
    const m = this.model.bodies.length;
    const points: number[] = [];
    for (let i = frame * m; i < (frame + 1) * m; i++) {
      if (this.slots.seen[i]) points.push(...this.slots.p.subarray(i * 3, i * 3 + 3));
    }
    const markers = this.markersAt(frame);
    for (let i = 0; i < markers.length; i += 3) {
      if (Number.isFinite(markers[i])) points.push(...markers.subarray(i, i + 3));
    }
    return points;
  }

  markersAt(frame: number): Float32Array {
    return at(this.markers, frame);
  }

  timeAt(frame: number): number {
    return this.slots.time[frame] ?? NaN;
  }

  gap(): Float32Array {
    return this.gaps;
  }

  weight(): Uint8Array {
    return this.weights;
  }

  onArrival(): void {
    // Frames are there as soon as they are written.
  }
}
