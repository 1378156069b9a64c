import { spawn } from "node:child_process";

/** Opens an address in the user's browser, where this runs on a desktop; where that fails, it was printed. */
export function openInDesktop(
  address: string,
  { DISPLAY, WAYLAND_DISPLAY }: Readonly<Record<string, string | undefined>>,
): void {
  if ((DISPLAY ?? "") === "" && (WAYLAND_DISPLAY ?? "") === "") return;
  const opener = spawn("xdg-open", [address], { detached: true, stdio: "ignore" });
  opener.on("error", () => undefined);
  opener.unref();
}
