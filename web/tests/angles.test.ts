import { expect, test } from "vitest";
import type { PageAngle, PageAngles } from "../src/data";
import { bandOf, known, levelOf, panelsOf, unpackAngle } from "../src/plots/angles";

const RAD = Math.PI / 180;

function packed(...words: number[]): string {
  return btoa(String.fromCharCode(...words.flatMap((word) => [word & 0xff, (word >> 8) & 0xff])));
}

function angle(change: Partial<PageAngle> = {}): PageAngle {
  return {
    name: "knee_flexion_l",
    panel: "knee flexion",
    side: "l",
    body: 1,
    low: -5 * RAD,
    high: 65 * RAD,
    median: 20 * RAD,
    level: 3 * RAD,
    course: 4 * RAD,
    noise: 0.01,
    definition: false,
    values: packed(0, 1, -1, -32768, 200),
    ...change,
  };
}

function angles(...columns: PageAngle[]): PageAngles {
  return { title: "ISB", neutral: "", heading: "", note: "", step: 0.5 * RAD, columns, made: [] };
}

test("whole numbers of two bytes become degrees, and one of them is not known", () => {
  const values = [...unpackAngle(packed(0, 1, -1, -32768, 200), 0.5 * RAD)];
  expect(values.slice(0, 3).map((value) => Math.round(value * 1e6) / 1e6)).toEqual([0, 0.5, -0.5]);
  expect(values[3]).toBeNaN();
  expect(values[4]).toBeCloseTo(100, 4);
});

test("both sides of an angle share a panel and its scale, which zero is on", () => {
  const right = angle({ side: "r", low: 10 * RAD, high: 80 * RAD });
  const [panel, other, ...rest] = panelsOf(angles(angle(), angle({ panel: "knee rotation" }), right));
  expect(rest).toEqual([]);
  expect(other?.name).toBe("knee rotation");
  expect(panel?.series.map((series) => series.angle.side)).toEqual(["l", "r"]);
  expect(panel?.low).toBeLessThan(-5);
  expect(panel?.high).toBeGreaterThan(80);
  const never = panelsOf(angles(angle({ low: null, high: null })))[0];
  expect(never?.low).toBeLessThan(0);
  expect(never?.high).toBeGreaterThan(0);
});

test("stretches that are known are drawn, and what is between them is not", () => {
  expect(known(Float32Array.of(1, 2, NaN, 3, NaN))).toEqual([
    [0, 1],
    [3, 3],
  ]);
  expect(known(new Float32Array(0))).toEqual([]);
});

test("a level is an error, a definition, or open", () => {
  expect(bandOf(angle())).toBeCloseTo(5, 6);
  expect(bandOf(angle({ level: null, course: null }))).toBe(0);
  expect(levelOf(angle())).toBe("± 3.0");
  expect(levelOf(angle({ level: null, definition: true }))).toBe("by definition");
  expect(levelOf(angle({ level: null }))).toBe("open");
});
