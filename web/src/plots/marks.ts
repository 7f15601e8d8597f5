import type { PageFinding } from "../data";
import type { Model } from "../model";

export type MarkKind = "slip" | "swap" | "finding" | "masked";

/** A moment or a stretch to be seen on a time axis [s]. */
export interface Mark {
  readonly kind: MarkKind;
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** what stands at it, in a word or two */
  readonly name: string;
}

function kindOf(finding: PageFinding): MarkKind {
  if (finding.code.includes("slip")) return "slip";
  if (finding.code.includes("swap")) return "swap";
  return "finding";
}

function nameOf(finding: PageFinding): string {
  const kind = kindOf(finding);
  return kind === "finding" ? finding.code.replaceAll("-", " ") : kind;
}

/** Findings with a time that concern these bodies (all for null), and where these bodies were masked. */
export function marksOf(model: Model, bodies: readonly number[] | null): Mark[] {
  const concerns = (list: readonly number[]): boolean => bodies === null || list.some((b) => bodies.includes(b));
  const marks: Mark[] = [];
  for (const { body, start, end } of model.data.masked) {
    if (bodies?.includes(body)) {
      marks.push({ kind: "masked", start, end, text: `${model.name(body)} not seen or masked`, name: "masked" });
    }
  }
  for (const finding of model.data.findings) {
    if (finding.time === null || !concerns(finding.bodies)) continue;
    const kind = kindOf(finding);
    if (kind === "finding" && finding.severity === "info") continue;
    marks.push({ kind, start: finding.time[0], end: finding.time[1], text: finding.text, name: nameOf(finding) });
  }
  return marks;
}
