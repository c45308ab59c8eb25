import { PenLine, Undo2 } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { Button } from '../../../ui/forms/button.tsx'

type ButtonProps = { channelId: string; onClick: () => void; children: string }

/** Begins a text or media for one channel. The button has the same name on each channel, and is described by the channel. */
export function BeginButton({ channelId, onClick, children }: ButtonProps) {
  return (
    <Button
      look="quiet"
      className="scripted -ml-1 px-2 text-left"
      onClick={onClick}
      aria-describedby={`name-${channelId}`}
    >
      <PenLine aria-hidden />
      {children}
    </Button>
  )
}

/** Goes back to the shared text or media. */
export function SharedButton({ channelId, onClick, children }: ButtonProps) {
  return (
    <Button look="quiet" className="scripted -ml-2 mt-1 px-2" onClick={onClick} aria-describedby={`name-${channelId}`}>
      <Undo2 aria-hidden />
      {children}
    </Button>
  )
}

/** A press replaces its button: the focus goes to the first control that takes its place. */
export function useFocusAfterPress(isOwn: boolean) {
  const on = useRef<HTMLDivElement>(null)
  const isPressed = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change of what is there
  useEffect(() => {
    if (isPressed.current) on.current?.querySelector<HTMLElement>('textarea, input, button')?.focus()
    isPressed.current = false
  }, [isOwn])
  const pressed = (does: () => void) => () => {
    isPressed.current = true
    does()
  }
  return { on, pressed }
}
