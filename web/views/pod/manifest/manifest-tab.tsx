import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Pod } from "../../../../src/model/pod.ts";
import { useAtMs } from "../../../hooks.ts";
import { shownLine } from "../../../model/log-text.ts";
import { findDefaults, manifestLines } from "../../../model/manifest-lines.ts";

const shortcuts = ["all", "without defaults"] as const;

export function ManifestTab({ pod }: { readonly pod: Pod | undefined }): JSX.Element {
  const atMs = useAtMs();
  const [which, setWhich] = useState<(typeof shortcuts)[number]>("all");
  const [hasStatus, setHasStatus] = useState(false);
  // Most changes of a pod are those of its status.
  const specText = JSON.stringify(pod?.spec ?? {});
  const defaults = useMemo(() => findDefaults(specText), [specText]);
  const lines = useMemo(() => {
    if (pod === undefined) return [];
    const { metadata, spec, status } = pod;
    return manifestLines({ metadata, spec, ...(hasStatus ? { status } : {}) }, defaults);
  }, [pod, hasStatus, defaults]);
  if (atMs !== undefined)
    return <p class="muted">Manifests are not part of history: go to now to see it.</p>;
  if (pod === undefined) return <p class="muted">The pod is gone, and its manifest with it.</p>;
  const shown = which === "all" ? lines : lines.filter(({ isDefault }) => !isDefault);
  return (
    <>
      <div class="log-tools" role="toolbar" aria-label="Manifest">
        {shortcuts.map((each) => (
          <label key={each} class="toggle">
            <input
              type="radio"
              name="manifest-lines"
              checked={which === each}
              onChange={() => setWhich(each)}
            />{" "}
            {each}
          </label>
        ))}
        <label class="toggle">
          <input
            type="checkbox"
            checked={hasStatus}
            onChange={({ currentTarget }) => setHasStatus(currentTarget.checked)}
          />{" "}
          with status
        </label>
        <span class="muted">
          Marked: what would be the same if the manifest did not say it
          {!defaults.isWhole && " (it is large: looked for in its beginning only)"}
        </span>
      </div>
      <pre class="manifest">
        {shown.map(({ text, isDefault }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
          <code key={index} class={isDefault ? "manifest-line defaulted" : "manifest-line"}>
            {shownLine(text)}
            {isDefault && <span class="mark">default</span>}
          </code>
        ))}
      </pre>
    </>
  );
}
