import { at } from "../at";
import { type Model, selectBody, selectLink } from "../model";
import type { Motion } from "../motion/motion";
import { SPEEDS } from "../player";
import type { Stage } from "../scene/stage";
import type { Store } from "../store";
import { COLOURS, ENLARGED, VIEWS } from "./choices";
import type { Theme } from "./theme";

/** What keys act on. */
export interface Page {
  readonly model: Model;
  readonly store: Store;
  readonly motion: Motion | null;
  readonly stage: Stage | null;
  readonly theme: Theme;
  readonly dialog: HTMLDialogElement;
}

export interface Key {
  readonly name: string;
  /** as `KeyboardEvent.key` has it, letters small */
  readonly key: string;
  /** does the same and is not listed */
  readonly alias?: string;
  /** what stands on the page, where that is not the key itself */
  readonly sign?: string;
  does(page: Page, event: KeyboardEvent): void;
}

/** Keys that belong together: one line of the list. */
export interface KeyGroup {
  readonly keys: readonly Key[];
  readonly help: string;
  /** only while the figure has the focus, where these go before all others */
  readonly onFigure?: boolean;
}

const TURN = 0.12; // rad
const ZOOM = 0.88;

/** All keys of the page: the keyboard, the list of keys and the titles of buttons follow from this table. */
export const KEYS = [
  {
    help: "play, pause",
    keys: [
      { name: "play", key: " ", sign: "Space", does: ({ store }) => store.set({ playing: !store.state.playing }) },
    ],
  },
  {
    help: "one frame back or on; with Shift one second",
    keys: [
      { name: "back", key: "ArrowLeft", sign: "←", does: (page, event) => step(page, -stride(page, event)) },
      { name: "on", key: "ArrowRight", sign: "→", does: (page, event) => step(page, stride(page, event)) },
    ],
  },
  {
    help: "first, last frame",
    keys: [
      { name: "first", key: "Home", does: (page) => step(page, -Infinity) },
      { name: "last", key: "End", does: (page) => step(page, Infinity) },
    ],
  },
  {
    help: "slower, faster",
    keys: [
      { name: "slower", key: "[", does: (page) => changeSpeed(page, -1) },
      { name: "faster", key: "]", does: (page) => changeSpeed(page, 1) },
    ],
  },
  {
    help: "next, previous joint",
    keys: [
      { name: "next joint", key: "j", does: (page) => selectNeighbour(page, 1) },
      { name: "previous joint", key: "k", does: (page) => selectNeighbour(page, -1) },
    ],
  },
  {
    help: "select nothing",
    keys: [{ name: "nothing", key: "Escape", sign: "Esc", does: ({ store, model }) => selectBody(store, model, null) }],
  },
  {
    help: VIEWS.map(({ label }) => label.toLowerCase()).join(", "),
    keys: VIEWS.map(({ view }, i) => ({
      name: view,
      key: String(i + 1),
      does: ({ store }: Page) => store.set({ view }),
    })),
  },
  {
    help: `departure of the measured figure × ${ENLARGED.join(", ")}`,
    keys: [
      {
        name: "enlarged",
        key: "x",
        does: ({ store }) => store.set({ enlarged: after(ENLARGED, store.state.enlarged) }),
      },
    ],
  },
  {
    help: "what colours tell",
    keys: [
      { name: "colour", key: "c", does: ({ store }) => store.set({ colour: after(colours, store.state.colour) }) },
    ],
  },
  {
    help: "names, trails, follow",
    keys: [
      { name: "labels", key: "l", does: ({ store }) => store.set({ labels: !store.state.labels }) },
      { name: "trails", key: "t", does: ({ store }) => store.set({ trails: !store.state.trails }) },
      { name: "follow", key: "f", does: ({ store }) => store.set({ follow: !store.state.follow }) },
    ],
  },
  {
    help: "the view as it was at first",
    keys: [{ name: "reset", key: "r", does: ({ stage }) => stage?.resetView() }],
  },
  {
    help: "turn and zoom, once the figure is clicked or focused",
    onFigure: true,
    keys: [
      { name: "turn left", key: "ArrowLeft", sign: "←", does: ({ stage }) => stage?.eye.orbit(-TURN, 0) },
      { name: "turn right", key: "ArrowRight", sign: "→", does: ({ stage }) => stage?.eye.orbit(TURN, 0) },
      { name: "turn up", key: "ArrowUp", sign: "↑", does: ({ stage }) => stage?.eye.orbit(0, TURN) },
      { name: "turn down", key: "ArrowDown", sign: "↓", does: ({ stage }) => stage?.eye.orbit(0, -TURN) },
      { name: "nearer", key: "+", alias: "=", does: ({ stage }) => stage?.eye.zoom(ZOOM) },
      { name: "farther", key: "-", sign: "−", does: ({ stage }) => stage?.eye.zoom(1 / ZOOM) },
    ],
  },
  {
    help: "light or dark",
    keys: [{ name: "theme", key: "d", does: ({ theme }) => theme.toggle() }],
  },
  {
    help: "this list",
    keys: [{ name: "keys", key: "?", does: ({ dialog }) => dialog.showModal() }],
  },
] as const satisfies readonly KeyGroup[];

export type KeyName = (typeof KEYS)[number]["keys"][number]["name"];

const colours = COLOURS.map(({ colour }) => colour);

/** What stands for a key on the page. */
export function signOf({ key, sign }: Key): string {
  return sign ?? key;
}

/** The title of a button with the keys that do the same: "What colours tell (c)". */
export function titleWithKeys(title: string, ...names: readonly KeyName[]): string {
  const keys: readonly Key[] = KEYS.flatMap((group): readonly Key[] => group.keys);
  const signs = keys.filter(({ name }) => names.some((wanted) => wanted === name)).map(signOf);
  return `${title} (${signs.join(" and ")})`;
}

/** The value after this one, the first after the last. */
function after<T>(values: readonly T[], now: T): T {
  return at(values, (values.indexOf(now) + 1) % values.length);
}

/** Frames to go at once. */
function stride({ motion }: Page, event: KeyboardEvent): number {
  return event.shiftKey ? Math.max(1, Math.round(motion?.page.rate ?? 1)) : 1;
}

function step({ motion, store }: Page, frames: number): void {
  if (motion === null) return;
  store.set({ frame: Math.min(motion.frames - 1, Math.max(0, store.state.frame + frames)), playing: false });
}

function changeSpeed({ store }: Page, by: number): void {
  const place = SPEEDS.indexOf(store.state.speed) + by;
  store.set({ speed: at(SPEEDS, Math.min(SPEEDS.length - 1, Math.max(0, place))) });
}

function selectNeighbour({ model, store }: Page, by: number): void {
  const n = model.links.length;
  if (n) selectLink(store, model, ((store.state.link ?? (by > 0 ? -1 : n)) + by + n) % n);
}
