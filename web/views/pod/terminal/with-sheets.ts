// The terminal's library writes its style into style elements, which the page's Content-Security-Policy does not apply.
// Style sheets that a script constructs are allowed.

/** Runs `work`; a style element that it makes hands its text to a sheet of the document, also later. */
export function withSheets(work: () => void): void {
  const create = document.createElement;
  const replaced = (name: string, options?: ElementCreationOptions): HTMLElement => {
    if (name !== "style") return create.call(document, name, options);
    const element = create.call(document, "template");
    useSheet(element);
    return element;
  };
  Object.assign(document, { createElement: replaced });
  try {
    work();
  } finally {
    Object.assign(document, { createElement: create });
  }
}

function useSheet(element: HTMLElement): void {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperty(element, "textContent", {
    set: (text: string) => sheet.replaceSync(text),
  });
  Object.defineProperty(element, "remove", {
    value: () => {
      Element.prototype.remove.call(element);
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet);
    },
  });
}
