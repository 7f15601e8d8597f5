import type { Colour, View } from "../store";

/** What the reader can choose of, for buttons, lists and keys alike. */

export const VIEWS: readonly { readonly view: View; readonly label: string; readonly about: string }[] = [
  { view: "played", label: "Played", about: "The figure with joints that stay together" },
  { view: "measured", label: "Measured", about: "As the sensors were seen: joints come apart" },
  { view: "ghost", label: "Ghost", about: "Played, with the measured one shining through" },
  { view: "side", label: "Side by side", about: "Measured at the left, played at the right" },
];

/** times that departures are drawn larger */
export const ENLARGED: readonly number[] = [1, 3, 10, 30];

export const COLOURS: readonly { readonly colour: Colour; readonly label: string }[] = [
  { colour: "residual", label: "residual" },
  { colour: "gap", label: "gap now" },
  { colour: "figure", label: "figure" },
];
