import { composerStrings } from '../composer/strings.tsx'
import type { SaveState } from './autosave.ts'

const strings = composerStrings.saving

/** One line under the form: whether what was typed is saved. */
export function SaveStatus({ state }: { state: SaveState }) {
  return (
    <p role="status" className={`mt-2 min-h-5 text-sm ${'isKept' in state ? 'text-warn' : 'text-muted'}`}>
      {sentence(state)}
    </p>
  )
}

function sentence(state: SaveState): string {
  if (state.is === 'saving') return strings.saving
  if (state.is === 'saved') return strings.saved
  if (!('isKept' in state)) return ''
  if (!state.isKept) return strings.notKept
  return state.is === 'away' ? strings.keptHere : strings.refused
}
