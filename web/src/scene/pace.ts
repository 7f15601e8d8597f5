import { median } from "../quantile";

/** Frames whose intervals are looked at together. */
const LOOK = 6;
/** [ms] between frames beyond which motion stutters. */
const SLOW = 45;
/** [ms] that are no frame rate: the page was hidden, or somebody looked at a menu. */
const AWAY = 1000;
const STEP = 0.7;
const LEAST = 0.4;

/**
 * How finely to draw: all there is at rest, coarser while frames come too slowly.
 *
 * What was too fine once is not tried again, so that the picture does not flicker between two sizes.
 */
export class Pace {
  private kept = 1;
  private readonly gaps: number[] = [];
  private before: number | null = null;

  /** Share of the finest resolution for the frame that is drawn now [ms]. */
  share(now: number, moving: boolean): number {
    const gap = this.before === null ? AWAY : now - this.before;
    this.before = moving ? now : null;
    if (!moving) {
      this.gaps.length = 0;
      return 1;
    }
    if (gap < AWAY) this.gaps.push(gap);
    if (this.gaps.length === LOOK) {
      const usual = median(this.gaps);
      this.gaps.length = 0;
      if (usual > SLOW) this.kept = Math.max(LEAST, this.kept * STEP);
    }
    return this.kept;
  }
}
