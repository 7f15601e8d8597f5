import type { Motion } from "./motion/motion";
import type { Store } from "./store";

export const SPEEDS: readonly number[] = [0.1, 0.25, 0.5, 1, 2, 4];

/** The frame to show after `seconds` more at a moment; a jump of time between two recordings takes none. */
export function advance(
  motion: Motion,
  frame: number,
  moment: number,
  seconds: number,
): { frame: number; moment: number } {
  const breaks = motion.page.breaks;
  moment += seconds;
  while (frame + 1 < motion.frames) {
    const next = motion.time[frame + 1] ?? NaN;
    if (Number.isNaN(next)) return { frame, moment: motion.timeAt(frame) }; // wait for the piece
    if (next <= moment) frame++;
    else if (breaks.includes(frame + 1) && moment - motion.timeAt(frame) > 1 / (motion.page.rate || 1)) {
      frame++;
      moment = next;
    } else break;
  }
  return { frame, moment };
}

/** Plays by the clock on the wall, begins again at the end. */
export function makePlayer(motion: Motion, store: Store): void {
  let before = 0;
  let moment = 0;
  let shown = -1;
  const tick = (now: number): void => {
    const { state } = store;
    if (!state.playing) return;
    if (state.frame !== shown) moment = motion.timeAt(state.frame); // someone scrubbed
    const seconds = Math.min(0.25, Math.max(0, (now - before) / 1000)) * state.speed;
    before = now;
    if (state.frame >= motion.frames - 1) {
      moment = motion.timeAt(0);
      store.set({ frame: 0 });
    } else {
      const next = advance(motion, state.frame, moment, seconds);
      moment = next.moment;
      store.set({ frame: next.frame });
    }
    shown = store.state.frame;
    requestAnimationFrame(tick);
  };
  store.watch(["playing"], (state) => {
    if (!state.playing || motion.frames < 2) return;
    before = performance.now();
    shown = -1;
    requestAnimationFrame(tick);
  });
}
