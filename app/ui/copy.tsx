import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { Button } from './button.tsx'

/** Puts `text` on the clipboard. Browsers have one only on https and on this machine; elsewhere it says what to do. */
export function CopyButton({ text }: { text: string }) {
  const [said, setSaid] = useState('')
  const copy = () =>
    window.navigator.clipboard === undefined
      ? setSaid('Select it and copy it by hand.')
      : void window.navigator.clipboard.writeText(text).then(
          () => setSaid('Copied.'),
          () => setSaid('Select it and copy it by hand.'),
        )
  return (
    <span className="flex flex-wrap items-center gap-3">
      <Button onClick={copy}>
        {said === 'Copied.' ? <Check aria-hidden /> : <Copy aria-hidden />}
        Copy
      </Button>
      <span role="status" className="text-sm text-muted">
        {said}
      </span>
    </span>
  )
}
