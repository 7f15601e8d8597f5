import { KEYS, type Key, type KeyGroup, type Page } from "./keys";

const groups: readonly KeyGroup[] = KEYS;
const everywhere = byKey(groups.filter((group) => !group.onFigure));
const onFigure = byKey(groups.filter((group) => group.onFigure));

/** Listens to the keyboard of the whole page. */
export function listenToKeys(page: Page): void {
  const isPointed = listenToPointer();
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || (page.dialog.open && event.key !== " ")) return;
    const target = event.target as HTMLElement;
    if (isForTarget(target, event.key) && !(event.key === " " && isPointed() && target.matches("select"))) return;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const key = (target === page.stage?.canvas ? onFigure.get(name) : undefined) ?? everywhere.get(name);
    if (key === undefined) return;
    event.preventDefault();
    key.does(page, event);
  });
}

/** What a pointer pressed does not keep the focus: Space plays, whatever was clicked before. Whether the last press before
 *  this key was a pointer's: a list that was opened and closed without another choice keeps the focus. */
function listenToPointer(): () => boolean {
  let pointed = false;
  let pointedBefore = false;
  addEventListener("pointerdown", () => (pointed = true), true);
  addEventListener(
    "keydown",
    () => {
      pointedBefore = pointed;
      pointed = false;
    },
    true,
  );
  const letGo = (kept: string): void => {
    const pressed = document.activeElement;
    if (pointed && (pressed instanceof HTMLElement || pressed instanceof SVGElement) && !pressed.matches(kept))
      pressed.blur();
  };
  const typed = "input[type=text], textarea, canvas, .scroll"; // these go on with keys of their own
  addEventListener("click", () => letGo(`${typed}, select`), true); // before a dialog opens, which gives the focus back
  addEventListener("change", () => letGo(typed));
  return () => pointedBefore;
}

/** Whether the element that has the focus needs this key itself. */
function isForTarget(target: HTMLElement, key: string): boolean {
  if (target.matches("input[type=text], select, textarea")) return true;
  if (target.matches("input[type=range]")) return /^(Arrow|Home|End|Page)/.test(key) || key === "Enter";
  if (target.matches("button, summary, [role=button], input, a")) return key === " " || key === "Enter";
  return target.matches(".scroll") && key.startsWith("Arrow");
}

function byKey(list: readonly KeyGroup[]): ReadonlyMap<string, Key> {
  const keys = list.flatMap((group) => group.keys);
  return new Map(keys.flatMap((key) => [key.key, ...(key.alias ? [key.alias] : [])].map((name) => [name, key])));
}
