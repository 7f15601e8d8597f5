import { describe, expect, it } from "vitest";
import { Model } from "../src/model";
import { flatten } from "../src/page/body_map";
import { goTo, readPlace, writePlace } from "../src/page/place";
import { beforeRepair } from "../src/plots/gap_plot";
import { Store } from "../src/store";
import { page, state } from "./made";

const opened = state();

describe("an address", () => {
  it("is a place only where it says what to show", () => {
    expect(readPlace("")).toBeNull();
    expect(readPlace("#tree")).toBeNull();
    expect(readPlace("#joint=a%26b&frame=12")).toEqual({ joint: "a&b", body: null, frame: 12 });
    expect(readPlace("#frame=x")).toEqual({ joint: null, body: null, frame: null });
  });
  it("comes back as it was written", () => {
    const model = new Model(page());
    const store = new Store(opened);
    goTo({ joint: "child", body: null, frame: null }, model, null, store);
    expect(store.state.link).toBe(0);
    expect(readPlace(writePlace(model, null, store))?.joint).toBe("child");
    goTo({ joint: "nobody", body: "thing", frame: null }, model, null, store);
    expect(store.state).toMatchObject({ body: 2, link: null });
    expect(writePlace(model, null, store)).toBe("#body=thing");
  });
});

it("a gap before a repair is spread over all frames, and is nothing where nothing was repaired", () => {
  expect(beforeRepair(null, 3)).toEqual([null, null, null]);
  const thin = beforeRepair(Float32Array.from([0, 0.5]), 4);
  expect(thin).toEqual([null, null, 500, 500]);
});

it("a map is upright and seen from where it is widest", () => {
  const { points, height } = flatten(
    [
      [0, 0, 0],
      [0, 2, 0],
      [0, 1, 1],
    ],
    "z",
  );
  const [a, b, top] = points;
  expect(Math.abs((a?.[0] ?? 0) - (b?.[0] ?? 0))).toBeGreaterThan(200);
  expect(top?.[1]).toBeLessThan(a?.[1] ?? 0);
  expect(height).toBeGreaterThan(50);
});
