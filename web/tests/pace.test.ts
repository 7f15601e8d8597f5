import { expect, test } from "vitest";
import { Pace } from "../src/scene/pace";

/** The share after so many frames, each so long [ms] after the one before. */
function after(pace: Pace, frames: number, gap: number, from = 0): number {
  let share = 1;
  for (let k = 0; k <= frames; k++) share = pace.share(from + k * gap, true);
  return share;
}

test("frames that come in time are drawn as finely as can be", () => {
  expect(after(new Pace(), 200, 17)).toBe(1);
});

test("frames that come too slowly are drawn more coarsely, down to a least", () => {
  expect(after(new Pace(), 6, 130)).toBeCloseTo(0.7);
  expect(after(new Pace(), 200, 130)).toBe(0.4);
});

test("one slow frame among many changes nothing", () => {
  const pace = new Pace();
  let now = 0;
  for (let k = 0; k < 60; k++) {
    now += k % 6 === 3 ? 300 : 17;
    expect(pace.share(now, true)).toBe(1);
  }
});

test("at rest everything is drawn finely again, and playing on begins where it was left", () => {
  const pace = new Pace();
  expect(after(pace, 6, 130)).toBeCloseTo(0.7);
  expect(pace.share(5000, false)).toBe(1);
  expect(pace.share(9000, true)).toBeCloseTo(0.7);
});

test("a page that was hidden for a while was not slow", () => {
  expect(after(new Pace(), 60, 2000)).toBe(1);
});
