import { button, el } from "../dom";
import { KEYS, type KeyGroup, signOf } from "./keys";

const MOUSE =
  "Drag the figure to turn it, with the right button or two fingers to move it; click it once, then the wheel zooms. " +
  "Click a joint, a limb, a row or a name to select it everywhere.";

/** The list of keys, as an overlay. */
export function keysDialog(): HTMLDialogElement {
  const list = el("dl", { class: "keys" });
  for (const { keys, help } of KEYS as readonly KeyGroup[]) {
    list.append(el("dt", {}, ...keys.map((key) => el("kbd", { text: signOf(key) }))), el("dd", { text: help }));
  }
  const dialog = el(
    "dialog",
    { class: "keys-dialog", "aria-label": "Keys" },
    el("h2", { text: "Keys", tabindex: -1, autofocus: true }), // no button has the focus: Space plays
    list,
    el("p", { class: "quiet", text: MOUSE }),
  );
  dialog.append(button("Close", "Close (Esc)", () => dialog.close()));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return dialog;
}
