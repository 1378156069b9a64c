// The page's flags, which every command has that runs an agent.
import { defaultUiAddress } from "../app/up-defaults.ts";
import { type Flag, text, toggle } from "./flags.ts";

interface UiFlags {
  readonly ui: Flag & { readonly kind: "text" };
  readonly "ui-terminal": Flag & { readonly kind: "toggle" };
  readonly "ui-allow-network": Flag & { readonly kind: "toggle" };
}

export const uiFlags: UiFlags = {
  ui: text(
    "ADDRESS",
    `Serve a page to look at the node (default ${defaultUiAddress}); \`berth ui\` logs in to it.`,
    { isOptional: true },
  ),
  "ui-terminal": toggle("Let the page run commands in containers."),
  "ui-allow-network": toggle(
    "Let --ui have an address that other machines reach, though nothing of the page is encrypted.",
  ),
};
