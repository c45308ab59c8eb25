import { useEffect, useRef } from 'react'
import { composerStrings } from './strings.tsx'

/** Props of the button that Ctrl+Enter and ⌘+Enter press. */
export const primaryKeys = { 'aria-keyshortcuts': 'Control+Enter Meta+Enter', title: composerStrings.buttons.keys }

/**
 * The keys of the form that it is the first part of: Enter in a field sends nothing, Ctrl+Enter and ⌘+Enter press the
 * primary button.
 */
export function Keys() {
  const place = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    const form = place.current!.form!
    const press = (event: KeyboardEvent) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat || event.isComposing) return
      event.preventDefault()
      form.querySelector<HTMLButtonElement>('[aria-keyshortcuts]')?.click()
    }
    form.addEventListener('keydown', press)
    return () => form.removeEventListener('keydown', press)
  }, [])
  // Enter presses the first submit button of a form (HTML, "implicit submission"), and this one sends nothing, also
  // without scripts: there is no dialog. It can't be disabled: Chromium ignores a disabled one when Enter is pressed in a date.
  // Nor hidden: WebKit skips a button that is not drawn.
  return (
    <button
      ref={place}
      type="submit"
      formMethod="dialog"
      tabIndex={-1}
      aria-hidden
      className="sr-only"
      onClick={(event) => event.preventDefault()}
    />
  )
}
