import { type Model, selectBody, selectLink } from "../model";
import type { Motion } from "../motion/motion";
import type { Store } from "../store";

/** Where a reader looks: in the address, so that it can be sent. */
export interface Place {
  readonly joint: string | null;
  readonly body: string | null;
  /** number of the frame in the take */
  readonly frame: number | null;
}

/** The place that the end of an address tells; null where that is a part of the page, or nothing. */
export function readPlace(hash: string): Place | null {
  if (!hash.includes("=")) return null;
  const told = new URLSearchParams(hash.replace(/^#/, ""));
  const frame = Number.parseInt(told.get("frame") ?? "", 10);
  return { joint: told.get("joint"), body: told.get("body"), frame: Number.isNaN(frame) ? null : frame };
}

/** What goes to the end of the address: the joint, or the body that has none, and the frame. */
export function writePlace(model: Model, motion: Motion | null, store: Store): string {
  const { body, link, frame } = store.state;
  const told = new URLSearchParams();
  if (link !== null) told.set("joint", model.linkName(link));
  else if (body !== null) told.set("body", model.name(body));
  if (motion) told.set("frame", String(frame * motion.page.every));
  return `#${told}`;
}

/** Shows a place, as far as it is one of this page. */
export function goTo(place: Place, model: Model, motion: Motion | null, store: Store): void {
  const link = model.links.findIndex((_, l) => model.linkName(l) === place.joint);
  const body = model.names.indexOf(place.body ?? "");
  if (link >= 0) selectLink(store, model, link);
  else if (body >= 0) selectBody(store, model, body);
  if (place.frame === null || motion === null) return;
  const frame = Math.round(place.frame / motion.page.every);
  store.set({ frame: Math.max(0, Math.min(motion.frames - 1, frame)), playing: false });
}

/** Goes where the address says, now and when it changes, and keeps it up to date while nothing plays. */
export function followPlace(model: Model, motion: Motion | null, store: Store): void {
  const go = (): void => {
    const place = readPlace(location.hash);
    if (place !== null) goTo(place, model, motion, store);
  };
  go();
  addEventListener("hashchange", go);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let first = true;
  store.watch(["frame", "body", "link", "playing"], ({ playing }) => {
    if (first) {
      first = false; // an address that says nothing stays as it is until the reader chooses
      return;
    }
    clearTimeout(timer);
    if (playing) return;
    timer = setTimeout(() => {
      try {
        history.replaceState(null, "", writePlace(model, motion, store));
      } catch {
        // a page inside another one may have no address
      }
    }, 200);
  });
}
