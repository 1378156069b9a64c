/** A file as it was found, links followed. */
export interface FileFact {
  readonly path: string;
  readonly seen:
    | { readonly kind: "file"; readonly mode: number; readonly uid: number; readonly gid: number }
    | { readonly kind: "missing" }
    | { readonly kind: "unreadable"; readonly problem: string };
}
