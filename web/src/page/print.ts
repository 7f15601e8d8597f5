import { el } from "../dom";
import type { Motion } from "../motion/motion";

/** Prints when all of the motion is there: Ctrl+P waits, and paper that could not wait says so. */
export function waitToPrint(motion: Motion | null): { print(): void; note: HTMLElement } {
  const note = el("p", { class: "print-note" });
  const isWhole = (): boolean => motion === null || motion.progress === 1;
  let asked = false;
  const printNow = (): void => {
    asked = false;
    requestAnimationFrame(() => requestAnimationFrame(() => window.print())); // plots are drawn first
  };
  const print = (): void => {
    if (isWhole()) printNow();
    else asked = true;
  };
  motion?.onArrival(() => {
    if (asked && isWhole()) printNow();
  });
  addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "p" || isWhole()) return;
    event.preventDefault();
    print();
  });
  addEventListener("beforeprint", () => {
    const share = Math.floor((motion?.progress ?? 1) * 100);
    note.textContent = isWhole()
      ? ""
      : `Printed while ${share} % of the motion was there; plots have gaps. Print again.`;
  });
  return { print, note };
}
