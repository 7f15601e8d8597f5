import { Vector3 } from "three";
import type { Model } from "../model";
import type { MotionView } from "../motion/view";
import type { Eye } from "./camera";
import { standApart } from "./names";
import type { Room } from "./room";
import { extentOf } from "./upright";

/** Where the camera points: at first so that all bodies are in the picture, then along with them. */
export class Aim {
  /** whether the camera was set up; false has it done anew */
  isSet = false;
  /** [m] where each body was seen last, NaN where it never was */
  private readonly seen: Float32Array;
  /** from the mean of the bodies to what the camera looks at, now and when it was set up */
  private readonly offset = new Vector3();
  private readonly home = new Vector3();
  private readonly sum = new Vector3();
  private readonly place = new Vector3();

  constructor(
    private readonly model: Model,
    private readonly motion: MotionView,
    private readonly room: Room,
    private readonly eye: Eye,
  ) {
    this.seen = new Float32Array(model.bodies.length * 3).fill(NaN);
  }

  /** Sets the camera up for a frame, to which the figure was moved; not where no body is in it. */
  set(frame: number): void {
    const { played, rigs, shape } = this.room;
    const { up } = this.eye;
    const points = this.motion.pointsAt(frame);
    this.model.links.forEach(({ child }, link) => {
      if (played.poses.shows[child]) points.push(...played.sides.subarray(link * 6, link * 6 + 3));
    });
    if (points.length === 0) return;
    const { middle, radius, wide } = extentOf(points, up);
    middle.addScaledVector(up, -0.06 * radius); // room for the words below the figure
    this.offset.copy(middle).sub(this.mean());
    this.home.copy(this.offset);
    this.eye.frame(middle, radius * 1.06 + shape.size * 0.5, standApart(this.model, rigs, up) ?? wide);
    this.isSet = true;
  }

  /** Moves the camera along with the figure; `share` of the way, 1 at once. */
  follow(share: number): void {
    this.eye.follow(this.mean().add(this.offset), share);
  }

  /** Where a hand moved the view to, it stays while following. */
  keep(): void {
    this.offset.copy(this.eye.controls.target).sub(this.mean());
  }

  /** The view as it was at first. */
  reset(): void {
    this.offset.copy(this.home);
    this.eye.reset();
  }

  /** Mean of all bodies, each where it was seen last; where none ever was, the mean is where the camera looks. */
  private mean(): Vector3 {
    const { played, measured } = this.room;
    this.sum.set(0, 0, 0);
    let n = 0;
    this.model.bodies.forEach((body, b) => {
      const rig = played.poses.shows[b] ? played : measured.poses.shows[b] ? measured : null;
      if (rig !== null) this.seen.set(rig.poses.p.subarray(b * 3, b * 3 + 3), b * 3);
      this.place.fromArray(this.seen, b * 3);
      if (body.world || Number.isNaN(this.place.x)) return;
      this.sum.add(this.place);
      n++;
    });
    return n ? this.sum.divideScalar(n) : this.sum.copy(this.eye.controls.target).sub(this.offset);
  }
}
