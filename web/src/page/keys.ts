import { at } from "../at";
import { button, el } from "../dom";
import { type Model, selectBody, selectLink } from "../model";
import type { Motion } from "../motion/motion";
import { SPEEDS } from "../player";
import type { Stage } from "../scene/stage";
import type { Colour, Store } from "../store";
import { ENLARGED, VIEWS } from "./controls";

const KEYS: readonly (readonly [string, string])[] = [
  ["Space", "play, pause"],
  ["← →", "one frame back or on; with Shift one second"],
  ["Home End", "first, last frame"],
  ["[ ]", "slower, faster"],
  ["j k", "next, previous joint"],
  ["Esc", "select nothing"],
  ["1 2 3 4", "played, measured, ghost, side by side"],
  ["x", "departure of the measured figure × 1, 3, 10, 30"],
  ["c", "what colours tell"],
  ["l t f", "names, trails, follow"],
  ["r", "the view as it was at first"],
  ["← → ↑ ↓ + −", "turn and zoom, once the figure is clicked or focused"],
  ["d", "light or dark"],
  ["?", "this list"],
];

/** The list of keys, as an overlay. */
export function keysDialog(): HTMLDialogElement {
  const list = el("dl", { class: "keys" });
  for (const [key, does] of KEYS)
    list.append(el("dt", {}, ...key.split(" ").map((k) => el("kbd", { text: k }))), el("dd", { text: does }));
  const dialog = el(
    "dialog",
    { class: "keys-dialog", "aria-label": "Keys" },
    el("h2", { text: "Keys" }),
    list,
    el("p", {
      class: "quiet",
      text: "Drag the figure to turn it, with the right button or two fingers to move it; click it once, then the wheel zooms. Click a joint, a limb, a row or a name to select it everywhere.",
    }),
  );
  dialog.append(button("Close", "Close (Esc)", () => dialog.close()));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return dialog;
}

function cycle<T>(values: readonly T[], now: T): T {
  return at(values, (values.indexOf(now) + 1) % values.length);
}

interface Parts {
  readonly model: Model;
  readonly store: Store;
  readonly motion: Motion | null;
  readonly stage: Stage | null;
  readonly dialog: HTMLDialogElement;
  theme(): void;
}

/** Listens to the keyboard of the whole page. */
export function listenToKeys({ model, store, motion, stage, dialog, theme }: Parts): void {
  const step = (frames: number): void => {
    if (motion === null) return;
    store.set({ frame: Math.min(motion.frames - 1, Math.max(0, store.state.frame + frames)), playing: false });
  };
  const neighbour = (by: number): void => {
    const n = model.links.length;
    if (n) selectLink(store, model, ((store.state.link ?? (by > 0 ? -1 : n)) + by + n) % n);
  };
  const faster = (by: number): void => {
    const at = SPEEDS.indexOf(store.state.speed as (typeof SPEEDS)[number]);
    store.set({ speed: SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, at + by))] });
  };
  const second = Math.max(1, Math.round(motion?.page.rate ?? 1));
  const actions: Readonly<Record<string, (event: KeyboardEvent) => void>> = {
    " ": () => store.set({ playing: !store.state.playing }),
    ArrowLeft: (event) => step(event.shiftKey ? -second : -1),
    ArrowRight: (event) => step(event.shiftKey ? second : 1),
    Home: () => step(-Infinity),
    End: () => step(Infinity),
    "[": () => faster(-1),
    "]": () => faster(1),
    j: () => neighbour(1),
    k: () => neighbour(-1),
    Escape: () => selectBody(store, model, null),
    x: () => store.set({ enlarged: cycle<number>(ENLARGED, store.state.enlarged) }),
    c: () => store.set({ colour: cycle<Colour>(["residual", "gap", "figure"], store.state.colour) }),
    l: () => store.set({ labels: !store.state.labels }),
    t: () => store.set({ trails: !store.state.trails }),
    f: () => store.set({ follow: !store.state.follow }),
    r: () => stage?.resetView(),
    d: () => theme(),
    "?": () => dialog.showModal(),
  };
  VIEWS.forEach(([view], i) => Object.assign(actions, { [String(i + 1)]: () => store.set({ view }) }));
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    const target = event.target as HTMLElement;
    if (target.matches("input[type=text], select, textarea")) return;
    if (target.matches("input[type=range]") && /^(Arrow|Home|End|Page)/.test(event.key)) return;
    if (target.matches("button, summary, [role=button], input, a") && (event.key === " " || event.key === "Enter"))
      return;
    if (target === stage?.canvas && orbit(stage, event.key)) return event.preventDefault();
    const focusScrolls = target.matches(".scroll") && event.key.startsWith("Arrow");
    const action = focusScrolls ? undefined : actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (action === undefined) return;
    event.preventDefault();
    action(event);
  });
}

function orbit(stage: Stage, key: string): boolean {
  const turn = 0.12;
  if (key === "ArrowLeft") stage.eye.orbit(-turn, 0);
  else if (key === "ArrowRight") stage.eye.orbit(turn, 0);
  else if (key === "ArrowUp") stage.eye.orbit(0, turn);
  else if (key === "ArrowDown") stage.eye.orbit(0, -turn);
  else if (key === "+" || key === "=") stage.eye.zoom(0.88);
  else if (key === "-") stage.eye.zoom(1 / 0.88);
  else return false;
  return true;
}
