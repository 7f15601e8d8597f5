import { describe, expect, it } from "vitest";
import { at } from "../src/at";
import type { PageConnection, PageJoint } from "../src/data";
import { Model } from "../src/model";
import type { Motion } from "../src/motion/motion";
import { advance } from "../src/player";
import { columnsOf, histogram, stretches } from "../src/plots/decimate";
import { axisOf, topOf } from "../src/plots/gap_plot";
import { marksOf } from "../src/plots/marks";
import { Store } from "../src/store";
import { joint, motion, page, state } from "./made";

describe("series in few columns", () => {
  it("no spike is lost", () => {
    const values = new Float32Array(10_000).fill(1);
    values[7777] = 50;
    const { high, low } = columnsOf(values, 100);
    expect(Math.max(...high)).toBe(50);
    expect(high[77]).toBe(50);
    expect(Math.min(...low)).toBe(1);
  });
  it("frames that do not count leave a hole", () => {
    const values = Float32Array.from([1, 2, 3, 4]);
    const { high } = columnsOf(values, 2, Uint8Array.from([1, 1, 0, 0]));
    expect(high[0]).toBe(2);
    expect(high[1]).toBeNaN();
  });
  it("fewer frames than columns are repeated", () => {
    expect(Array.from(columnsOf(Float32Array.from([1, 2]), 4).high)).toEqual([1, 1, 2, 2]);
    expect(columnsOf(new Float32Array(0), 3).high[0]).toBeNaN();
  });
  it("the histogram counts what counts, the largest in the last bin", () => {
    const counts = histogram(Float32Array.from([0, 0.5, 1.5, 9, NaN, 1]), Uint8Array.from([1, 1, 1, 1, 1, 0]), 2, 4);
    expect(Array.from(counts)).toEqual([1, 1, 0, 2]);
  });
  it("stretches have a first and a last frame", () => {
    expect(stretches(6, (i) => [1, 2, 5].includes(i))).toEqual([
      [1, 2],
      [5, 5],
    ]);
    expect(stretches(0, () => true)).toEqual([]);
  });
  it("an axis ends at a round number, not at a lone spike", () => {
    expect(topOf(0.0205, 0.0139)).toBe(25);
    expect(topOf(2, 0.01)).toBe(40);
    expect(topOf(0, 0)).toBeGreaterThan(0);
  });
});

it("pauses between recordings take no room on the axis", () => {
  const time = [0, 0.1, 70, 70.1];
  const moving = { frames: 4, timeAt: (i: number) => at(time, i), page: motion({ breaks: [2] }) };
  axisOf(moving).forEach((value, i) => expect(value).toBeCloseTo(i / 10, 9));
  expect(axisOf({ ...moving, page: { ...moving.page, timed: false } })).toEqual([0, 1, 2, 3]);
});

it("loops of one pair are told apart by when they begin", () => {
  const loop = (start: number, x: number): [PageJoint, PageConnection] => [
    joint(2, 0, { p_child_joint: [x, 0, 0] }),
    {
      child: 2,
      parent: 0,
      joint: null,
      p_child_joint: [x, 0, 0],
      p_parent_joint: [0, 0, 0],
      residual: 0,
      start,
      end: start + 1,
    },
  ];
  const [a, b] = [loop(1, 0.1), loop(3, 0.2)];
  const model = new Model(page({ loops: [a[0], b[0]], connections: [b[1], a[1]] }));
  expect([1, 2].map((link) => model.linkName(link))).toEqual(["thing – root, 1.0 s", "thing – root, 3.0 s"]);
  expect(model.span(0)).toBeNull();
});

it("marks are those of the joint's two bodies; what is only to be known is left out", () => {
  const finding = {
    code: "slip",
    severity: "warning",
    bodies: [1],
    time: [1, 1],
    value: null,
    unit: null,
    text: "moved",
    title: "Fasten it better",
    cause: "mounting",
  } as const;
  const model = new Model(
    page({
      findings: [
        finding,
        { ...finding, code: "swap", bodies: [2] },
        { ...finding, code: "gap-left", severity: "info" },
      ],
      masked: [
        { body: 0, start: 0, end: 0.2 },
        { body: 2, start: 0, end: 0.2 },
      ],
    }),
  );
  expect(marksOf(model, [1, 0]).map((mark) => mark.kind)).toEqual(["masked", "slip"]);
  expect(marksOf(model, null).map((mark) => mark.kind)).toEqual(["slip", "swap"]);
});

describe("playing", () => {
  const of = (time: number[], breaks: number[] = []): Motion =>
    ({
      time: Float64Array.from(time),
      frames: time.length,
      page: { breaks, rate: 10 },
      timeAt: (i: number) => time[i],
    }) as unknown as Motion;

  it("goes by the clock, whatever the frames' spacing", () => {
    expect(advance(of([0, 0.1, 0.2, 0.9, 1]), 0, 0, 0.25).frame).toBe(2);
    expect(advance(of([0, 0.1, 0.2, 0.9, 1]), 2, 0.2, 0.3).frame).toBe(2);
  });
  it("a pause between two recordings is not waited for", () => {
    const motion = of([0, 0.1, 50, 50.1], [2]);
    const { frame, moment } = advance(motion, 1, 0.1, 0.15);
    expect(frame).toBe(2);
    expect(moment).toBe(50);
  });
  it("waits where a piece has not arrived", () => {
    expect(advance(of([0, 0.1, NaN, NaN]), 1, 0.1, 5)).toEqual({ frame: 1, moment: 0.1 });
  });
});

describe("what the reader looks at", () => {
  const opened = state();
  it("is told to those who asked for what changed, and only then", () => {
    const store = new Store(opened);
    const told: (number | null)[] = [];
    store.watch(["body"], (now) => told.push(now.body));
    store.set({ frame: 3 });
    store.set({ body: 2, frame: 4 });
    store.set({ body: 2 });
    expect(told).toEqual([null, 2]);
  });
});
