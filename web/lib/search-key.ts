/** Calls back when "/" is pressed where nothing is typed into; returns what ends that. */
export function onSearchKey(onPressed: () => void): () => void {
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.closest("input, textarea, select")) return;
    event.preventDefault();
    onPressed();
  };
  addEventListener("keydown", onKey);
  return () => removeEventListener("keydown", onKey);
}
