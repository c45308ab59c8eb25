// What is typed before the page is interactive. React writes its own text into a text field when it takes it over.

let texts = new Map<string, string>() // by the id of the text field

/** Remember what is typed from now on, and what was already. Called before React takes over the document. */
export function noteEarlyTyping(): void {
  for (const field of document.querySelectorAll('textarea')) note(field)
  document.addEventListener('input', noteInput, true)
}

/** The text that was typed into the text field with this id before React took it over. After that, nothing is noted. */
export function takeEarlyText(id: string): string | undefined {
  document.removeEventListener('input', noteInput, true)
  const text = texts.get(id)
  texts = new Map()
  return text
}

function noteInput({ target }: Event): void {
  if (target instanceof HTMLTextAreaElement) note(target)
}

function note(field: HTMLTextAreaElement): void {
  if (field.value !== field.defaultValue) texts.set(field.id, field.value)
}
