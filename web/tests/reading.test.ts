import { describe, expect, it } from "vitest";
import { at, last, lookup } from "../src/at";
import { median, quantile } from "../src/quantile";
import { addScaled, difference, dot, mean, vectorAt } from "../src/vector";

describe("what must be there", () => {
  it("is read from arrays of every kind, zeros and empty texts too", () => {
    expect(at([0, 5], 0)).toBe(0);
    expect(at([""], 0)).toBe("");
    expect(at([null], 0)).toBeNull();
    expect(last(Float32Array.from([1, NaN]))).toBeNaN();
    expect(lookup(new Map([[3, 0]]), 3)).toBe(0);
  });
  it("or the place that is not there is named; one before the first is none", () => {
    expect(() => at([1, 2], 2)).toThrow("no place 2 among 2");
    expect(() => at([1, 2], -1)).toThrow("no place -1 among 2");
    expect(() => last([])).toThrow("no place -1 among 0");
    expect(() => lookup(new Map([[3, 0]]), 4)).toThrow("no key 4 among 1");
  });
});

it("quantiles are values that occur, whatever their order, which stays as it is", () => {
  const values = [40, 10, 30, 20];
  expect(median(values)).toBe(30);
  expect([0, 0.9, 1].map((share) => quantile(values, share))).toEqual([10, 40, 40]);
  expect(values).toEqual([40, 10, 30, 20]);
  expect(median([7])).toBe(7);
});

it("vectors", () => {
  expect(addScaled([1, 2, 3], [10, 0, -10], 0.5)).toEqual([6, 2, -2]);
  expect(difference([1, 2, 3], [1, 1, 1])).toEqual([0, 1, 2]);
  expect(dot([1, 2, 3], [4, 5, 6])).toBe(32);
  expect(
    mean([
      [0, 0, 3],
      [3, 0, 0],
      [0, 3, 0],
    ]),
  ).toEqual([1, 1, 1]);
  expect(vectorAt(Float32Array.from([9, 1, 2, 3]), 1)).toEqual([1, 2, 3]);
});
