/** What the reader looks at: one value shared by scene, plots, tables and tree. */

export type View = "played" | "measured" | "ghost" | "side";
export type Colour = "residual" | "gap" | "figure";

export interface State {
  /** shown frame under the scrubber */
  readonly frame: number;
  readonly playing: boolean;
  readonly speed: number;
  /** body that is selected, null for none */
  readonly body: number | null;
  /** link (place in joints followed by loops) that is selected, null where the body has none of its own */
  readonly link: number | null;
  readonly view: View;
  /** times that the measured figure's departure from the played one is drawn larger */
  readonly enlarged: number;
  readonly colour: Colour;
  readonly follow: boolean;
  readonly trails: boolean;
  readonly labels: boolean;
}

export type Key = keyof State;
type Listener = (state: State, changed: ReadonlySet<Key>) => void;

export class Store {
  private readonly listeners: { readonly keys: ReadonlySet<Key>; readonly run: Listener }[] = [];

  constructor(private current: State) {}

  get state(): State {
    return this.current;
  }

  /** Changes what differs and tells those who asked for it. */
  set(change: Partial<State>): void {
    const changed = new Set<Key>();
    for (const key of Object.keys(change) as Key[]) {
      if (change[key] !== undefined && !Object.is(change[key], this.current[key])) changed.add(key);
    }
    if (changed.size === 0) return;
    this.current = { ...this.current, ...change };
    for (const { keys, run } of this.listeners) {
      for (const key of changed) {
        if (keys.has(key)) {
          run(this.current, changed);
          break;
        }
      }
    }
  }

  /** Runs `run` now and whenever one of `keys` changes. */
  watch(keys: readonly Key[], run: Listener): void {
    this.listeners.push({ keys: new Set(keys), run });
    run(this.current, new Set(keys));
  }
}
