/** Where those who may open the local API are let in to the page. */
export interface UiDoor {
  newLogin(): UiLogin;
}

export type UiLogin =
  | {
      readonly kind: "login";
      /** Of the page, such as http://127.0.0.1:10260/ */
      readonly address: string;
      /** Lets one browser in that shows it there within its lifetime. */
      readonly code: string;
      readonly lifetimeMs: number;
    }
  | { readonly kind: "not-served"; readonly problem: string };
