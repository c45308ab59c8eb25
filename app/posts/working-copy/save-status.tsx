import { composerStrings } from '../composer/strings.tsx'
import type { SaveState } from './autosave.ts'

const strings = composerStrings.saving

type StatusProps = { state: SaveState; button: string | null } // `button`: what saves it in the post. Null: there is none

/** One line under the form: whether what was typed is saved. */
export function SaveStatus({ state, button }: StatusProps) {
  return (
    <p role="status" className={`mt-2 min-h-5 text-sm ${'isKept' in state ? 'text-warn' : 'text-muted'}`}>
      {sentence(state, button)}
    </p>
  )
}

function sentence(state: SaveState, button: string | null): string {
  if (state.is === 'idle') return ''
  if (state.is === 'saving') return strings.saving
  if (state.is === 'saved') return button ? strings.savedBeside(button) : strings.saved
  if (!('isKept' in state)) return strings.waits // the notice says for what
  if (!state.isKept) return strings.notKept
  return { away: strings.keptHere, refused: strings.refused, 'too-many': strings.tooMany }[state.is]
}
