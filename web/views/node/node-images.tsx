import type { JSX } from "preact";
import { sizeText } from "../../../src/lib/size-text.ts";
import type { GcItem } from "../../../src/model/gc-item.ts";
import type { NodeImage } from "../../../src/model/holding.ts";
import { usePage, useRead, useStore } from "../../hooks.ts";
import { ReadProblem } from "../../parts/read-problem.tsx";

const periodMs = 30_000;

/** What the runtime has, and how many containers use it. */
export function NodeImages(): JSX.Element {
  const { byUid } = useStore(usePage().pods);
  const { value, failure } = useRead<{ readonly items: readonly NodeImage[] }>("/berth/v1/images", {
    periodMs,
  });
  const used = new Map<string, number>();
  for (const { status = {} } of byUid.values()) {
    for (const { image, imageID } of [
      ...(status.initContainerStatuses ?? []),
      ...(status.containerStatuses ?? []),
    ]) {
      for (const name of new Set([image, imageID])) used.set(name, (used.get(name) ?? 0) + 1);
    }
  }
  const images = value?.items ?? [];
  if (value !== undefined && images.length === 0) return <p class="muted">There are no images.</p>;
  return (
    <>
      <ReadProblem failure={failure} />
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Image</th>
            <th scope="col" class="number">
              Size
            </th>
            <th scope="col" class="number">
              Containers
            </th>
          </tr>
        </thead>
        <tbody>
          {images.map(({ names, sizeBytes }) => (
            <tr key={names.join()}>
              <th scope="row" class="long" title={names.join("\n")}>
                {names[0] ?? "without a name"}
              </th>
              <td class="number">{sizeText(sizeBytes)}</td>
              <td class="number">{Math.max(0, ...names.map((name) => used.get(name) ?? 0))}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {images.length > 0 && (
        <p class="table-note">
          {images.length} images,{" "}
          {sizeText(images.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0))} in all
        </p>
      )}
    </>
  );
}

/** What the next collection would remove. */
export function NodeGarbage(): JSX.Element {
  const { value, failure } = useRead<{ readonly items: readonly GcItem[] }>("/berth/v1/gc", {
    periodMs,
  });
  const items = value?.items ?? [];
  return (
    <>
      <ReadProblem failure={failure} />
      {value !== undefined && items.length === 0 && (
        <p class="muted">Nothing: the next collection has nothing to remove.</p>
      )}
      <ul class="events">
        {items.map(({ kind, id, name, because, bytes }) => (
          <li key={`${kind}${id}`}>
            <span class="badge idle">{kind}</span>
            <span>
              {name} <span class="muted">{because}</span>
              {bytes !== undefined && ` ${sizeText(bytes)}`}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
