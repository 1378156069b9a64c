import type { JSX } from "preact";
import { usePage, useStore } from "../hooks.ts";

/** Says that what is shown may be old. */
export function TroubleBanner(): JSX.Element {
  const trouble = useStore(usePage().trouble);
  return (
    <div role="status" class={trouble === undefined ? "quiet" : "banner bad"}>
      {trouble === undefined
        ? ""
        : `Not current: ${trouble.message}. What is shown is as of then; trying again.`}
    </div>
  );
}
