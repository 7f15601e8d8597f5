import type { PageMotion } from "../data";
import type { Poses } from "./unpack";

/** What the scene asks of a motion, recorded or coming in. */
export interface MotionView {
  readonly page: Pick<PageMotion, "up" | "origin" | "low" | "high" | "rate" | "breaks">;
  /** Poses around a frame, or null while they are on their way. */
  poses(frame: number): Poses | null;
  /** Places of all bodies in a frame; x, y, z one after the other. */
  pointsAt(frame: number): number[];
  /** Places of single markers in a frame, where there are any; NaN where one is not seen. */
  markersAt?(frame: number): Float32Array;
  timeAt(frame: number): number;
  /** [m] of a link over frames; NaN where not known. */
  gap(link: number): Float32Array;
  /** Of a link over frames; 0 where a frame did not count. */
  weight(link: number): Uint8Array;
  onArrival(run: (fresh: boolean) => void): void;
}
