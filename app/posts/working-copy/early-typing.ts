// What is typed before the page is interactive. React writes its own text into a text field when it takes it over.

let texts = new Map<string, string>() // by the name of the text field

/** Remember what is typed from now on, and what was already. Called before React takes over the document. */
export function noteEarlyTyping(): void {
  for (const field of document.querySelectorAll('textarea')) note(field)
  document.addEventListener('input', noteInput, true)
}

/** The texts that were typed before React took over their fields, by the fields' names. After that, nothing is noted. */
export function takeEarlyTexts(): Map<string, string> {
  document.removeEventListener('input', noteInput, true)
  const taken = texts
  texts = new Map()
  return taken
}

function noteInput({ target }: Event): void {
  if (target instanceof HTMLTextAreaElement) note(target)
}

function note(field: HTMLTextAreaElement): void {
  if (field.value !== field.defaultValue) texts.set(field.name, field.value)
}
