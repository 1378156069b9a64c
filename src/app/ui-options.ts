// Whether the page is served, where, and what it may do.
import { isIP } from "node:net";
import { SetupError } from "../lib/setup-error.ts";
import type { UiSettings } from "../server/ui/ui-settings.ts";
import { defaultUiAddress } from "./up-defaults.ts";

export interface UiOptions {
  /** Undefined = no page; empty = at the usual address. */
  readonly ui?: string | undefined;
  readonly uiTerminal?: boolean | undefined;
  readonly uiAllowNetwork?: boolean | undefined;
}

export type UiNames = Readonly<Record<keyof UiOptions, string>>;

/** As commands take them. */
export const uiFlags: UiNames = {
  ui: "--ui",
  uiTerminal: "--ui-terminal",
  uiAllowNetwork: "--ui-allow-network",
};

/** A kubelet's flags and configuration have no place for them. */
export const uiVariables: UiNames = {
  ui: "BERTH_UI",
  uiTerminal: "BERTH_UI_TERMINAL",
  uiAllowNetwork: "BERTH_UI_ALLOW_NETWORK",
};

export type UiChoice = Pick<UiSettings, "address" | "terminal">;

/** Undefined = the page is not asked for. A refusal names what was given. */
export function parseUi(options: UiOptions, names: UiNames): UiChoice | undefined {
  const { ui, uiTerminal = false, uiAllowNetwork = false } = options;
  if (ui === undefined) {
    for (const name of ["uiTerminal", "uiAllowNetwork"] as const) {
      if (options[name] !== true) continue;
      throw new SetupError(`${names[name]} is given without ${names.ui}`, `give ${names.ui}, too`);
    }
    return undefined;
  }
  const { host, port } = parseAddress(ui === "" ? defaultUiAddress : ui, names.ui);
  if (!isLoopback(host) && !uiAllowNetwork) {
    throw new SetupError(
      `${names.ui}: ${host} is reached from other machines, and nothing of the page is encrypted: others on the way can read it and take over its logins`,
      `give an address such as ${defaultUiAddress} and come to it by ssh -L, or allow it with ${names.uiAllowNetwork}`,
    );
  }
  return { address: { host, port, setting: names.ui }, terminal: uiTerminal };
}

/** Of the environment of `berth kubelet`. */
export function readUiVariables(
  environment: Readonly<Record<string, string | undefined>>,
): UiOptions {
  const ui = environment[uiVariables.ui] ?? "";
  const isOn = (name: string): boolean => {
    const value = environment[name] ?? "";
    if (value === "" || value === "on") return value === "on";
    throw new SetupError(`${name}: "${value}" is not understood`, "set it to on, or not at all");
  };
  return {
    ui: ui === "" ? undefined : ui === "on" ? "" : ui,
    uiTerminal: isOn(uiVariables.uiTerminal),
    uiAllowNetwork: isOn(uiVariables.uiAllowNetwork),
  };
}

function parseAddress(
  text: string,
  name: string,
): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, digits = ""] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^[\]:]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = plain === "localhost" ? "127.0.0.1" : (bracketed ?? plain ?? "");
  const port = Number(digits);
  const isAddress = bracketed === undefined ? isIP(host) === 4 : isIP(host) === 6;
  if (!isAddress || port > 65_535) {
    throw new SetupError(
      `${name}: "${text}" is not an address with a port`,
      `give one such as ${defaultUiAddress}`,
    );
  }
  if (/^(?:0\.0\.0\.0|[0:]+)$/.test(host)) {
    throw new SetupError(
      `${name}: ${host} stands for every address, and the page is served by one name only`,
      "give the one that browsers are to use",
    );
  }
  return { host, port };
}

function isLoopback(host: string): boolean {
  return host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
