import { afterEach, describe, expect, it, vi } from "vitest";
import { Model } from "../src/model";
import type { Motion } from "../src/motion/motion";
import { listenToKeys } from "../src/page/keyboard";
import { KEYS, type KeyGroup, type Page, titleWithKeys } from "../src/page/keys";
import type { Stage } from "../src/scene/stage";
import { type State, Store } from "../src/store";
import { joint, motion, page, state } from "./made";

const groups: readonly KeyGroup[] = KEYS;
const opened = state({ frame: 50 });

/** A page under a keyboard: what a key changes, and the calls that it makes. */
function keyboard() {
  const calls: string[] = [];
  const call =
    (name: string) =>
    (...values: number[]): void => {
      calls.push([name, ...values.map((value) => value.toFixed(2))].join(" "));
    };
  const store = new Store(opened);
  const canvas = { matches: () => false };
  const seen = {
    model: new Model(page({ joints: [joint(1, 0), joint(2, 1)] })),
    store,
    motion: { frames: 100, page: motion({ rate: 30 }) } as Motion,
    stage: { canvas, eye: { orbit: call("orbit"), zoom: call("zoom") }, resetView: call("reset") } as unknown as Stage,
    theme: { toggle: call("theme") },
    dialog: { open: false, showModal: call("dialog") },
  } as unknown as Page;
  let listener: (event: unknown) => void = () => {};
  vi.stubGlobal("addEventListener", (_: string, run: typeof listener) => {
    listener = run;
  });
  listenToKeys(seen);
  /** Presses a key while an element has the focus that the selector `focus` matches; says whether the page took it. */
  const press = (key: string, { shiftKey = false, ctrlKey = false, focus = "", target = {} } = {}): boolean => {
    const preventDefault = vi.fn();
    const matches = (selector: string): boolean => focus !== "" && selector.split(", ").includes(focus);
    listener({ key, shiftKey, ctrlKey, preventDefault, target: target === canvas ? canvas : { matches } });
    return preventDefault.mock.calls.length > 0;
  };
  return { press, store, calls, canvas };
}

afterEach(() => vi.unstubAllGlobals());

describe("the table of keys", () => {
  it("has every key once in its place, and every name once", () => {
    for (const onFigure of [false, true]) {
      const keys = groups.filter((group) => (group.onFigure ?? false) === onFigure).flatMap((group) => group.keys);
      const pressed = keys.flatMap(({ key, alias }) => (alias === undefined ? [key] : [key, alias]));
      expect(new Set(pressed).size).toBe(pressed.length);
      expect(pressed.filter((key) => key.length === 1 && key !== key.toLowerCase())).toEqual([]);
    }
    const names = groups.flatMap((group) => group.keys.map(({ name }) => name));
    expect(new Set(names).size).toBe(names.length);
  });
  it("gives buttons their keys", () => {
    expect(titleWithKeys("What colours tell", "colour")).toBe("What colours tell (c)");
    expect(titleWithKeys("Speed", "slower", "faster")).toBe("Speed ([ and ])");
    expect(titleWithKeys("Beside each other", "side")).toBe("Beside each other (4)");
  });
});

describe("the keyboard", () => {
  it.each(groups.flatMap((group) => group.keys.map((key) => ({ ...key, onFigure: group.onFigure ?? false }))))(
    "$key is taken: $name",
    ({ key, onFigure }) => {
      const { press, canvas } = keyboard();
      expect(press(key, onFigure ? { target: canvas } : {})).toBe(true);
    },
  );
  it.each<[string, Partial<State>]>([
    [" ", { playing: true }],
    ["ArrowLeft", { frame: 49 }],
    ["Home", { frame: 0 }],
    ["End", { frame: 99 }],
    ["[", { speed: 0.5 }],
    ["]", { speed: 2 }],
    ["j", { link: 0, body: 1 }],
    ["k", { link: 1, body: 2 }],
    ["J", { link: 0, body: 1 }],
    ["2", { view: "measured" }],
    ["4", { view: "side" }],
    ["x", { enlarged: 3 }],
    ["c", { colour: "gap" }],
    ["l", { labels: true }],
    ["t", { trails: true }],
    ["f", { follow: false }],
  ])("%j changes this and nothing else", (key, change) => {
    const { press, store, calls } = keyboard();
    press(key);
    expect(store.state).toEqual({ ...opened, ...change });
    expect(calls).toEqual([]);
  });
  it("goes a second with Shift, and never past an end", () => {
    const { press, store } = keyboard();
    press("ArrowRight", { shiftKey: true });
    expect(store.state.frame).toBe(80);
    press("ArrowRight", { shiftKey: true });
    expect(store.state.frame).toBe(99);
  });
  it("begins anew after the last choice, and selects nothing on Esc", () => {
    const { press, store } = keyboard();
    for (let n = 0; n < 4; n++) press("x");
    for (let n = 0; n < 3; n++) press("c");
    for (let n = 0; n < 3; n++) press("j");
    expect(store.state).toEqual({ ...opened, link: 0, body: 1 });
    press("Escape");
    expect(store.state).toEqual(opened);
  });
  it("turns and zooms the figure that has the focus; elsewhere the same arrows go through time", () => {
    const { press, store, calls, canvas } = keyboard();
    for (const key of ["ArrowLeft", "ArrowUp", "+", "=", "-"]) press(key, { target: canvas });
    expect(calls).toEqual(["orbit -0.12 0.00", "orbit 0.00 0.12", "zoom 0.88", "zoom 0.88", "zoom 1.14"]);
    expect(store.state).toEqual(opened);
    expect(press("ArrowUp")).toBe(false);
    expect(press("j", { target: canvas })).toBe(true);
  });
  it("opens the list, changes the theme, resets the view", () => {
    const { press, calls } = keyboard();
    for (const key of ["?", "d", "r"]) press(key);
    expect(calls).toEqual(["dialog", "theme", "reset"]);
  });
  it("leaves to the browser and to what has the focus what is theirs", () => {
    const { press, store } = keyboard();
    expect(press("j", { ctrlKey: true })).toBe(false);
    expect(press("j", { focus: "select" })).toBe(false);
    expect(press("ArrowLeft", { focus: "input[type=range]" })).toBe(false);
    expect(press("ArrowLeft", { focus: ".scroll" })).toBe(false);
    expect(press(" ", { focus: "button" })).toBe(false);
    expect(press("q")).toBe(false);
    expect(store.state).toEqual(opened);
    expect(press("j", { focus: "button" })).toBe(true);
  });
});
