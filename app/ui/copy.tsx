import { Check, Copy } from 'lucide-react'
import { type ReactNode, useId, useState } from 'react'
import { Button } from './forms/button.tsx'
import { uiStrings } from './strings.ts'

/** Puts `text` on the clipboard. Browsers have one only on https and on this machine; elsewhere it says what to do. */
function useCopy(text: string): { said: string; copy: () => void } {
  const [said, setSaid] = useState('')
  const copy = () =>
    window.navigator.clipboard === undefined
      ? setSaid(uiStrings.copy.failed)
      : void window.navigator.clipboard.writeText(text).then(
          () => setSaid(uiStrings.copy.copied),
          () => setSaid(uiStrings.copy.failed),
        )
  return { said, copy }
}

// Every button of this file shows "Copy"; `copyName`, its accessible name, says what it copies.
function CopyButton({ copyName, text }: { copyName: string; text: string }) {
  const { said, copy } = useCopy(text)
  return (
    <span className="flex flex-wrap items-center gap-3">
      <Button onClick={copy} aria-label={copyName}>
        {said === uiStrings.copy.copied ? <Check aria-hidden /> : <Copy aria-hidden />}
        {uiStrings.copy.copy}
      </Button>
      <span role="status" className="text-sm text-muted">
        {said}
      </span>
    </span>
  )
}

/** A value to paste elsewhere, with its label. */
export function Copyable({ label, copyName, text }: { label?: string; copyName: string; text: string }) {
  return (
    <div>
      {label ? <p className="mb-1.5 text-sm font-medium">{label}</p> : null}
      <div className="flex flex-wrap items-center gap-3">
        <code className="min-w-0 select-all break-all rounded-lg bg-sunken px-3 py-2.5 font-mono text-sm">{text}</code>
        <CopyButton copyName={copyName} text={text} />
      </div>
    </div>
  )
}

/** A value among many, small: a click selects it, and its button copies it. */
export function CopyableId({ copyName, text }: { copyName: string; text: string }) {
  const id = useId()
  const { said, copy } = useCopy(text)
  return (
    <p className="mt-1 flex flex-wrap items-center gap-1 text-xs text-muted">
      <code id={id} className="select-all break-all font-mono">
        {text}
      </code>
      <button
        type="button"
        onClick={copy}
        aria-label={copyName}
        aria-describedby={id}
        className="rounded p-1.5 hover:bg-sunken hover:text-ink [&_svg]:size-3.5"
      >
        {said === uiStrings.copy.copied ? <Check aria-hidden /> : <Copy aria-hidden />}
      </button>
      <span role="status">{said}</span>
    </p>
  )
}

/** Lines for a terminal or a source file; a click selects them all. */
export function Snippet({ text }: { text: string }) {
  return (
    <pre className="select-all whitespace-pre-wrap break-words rounded-lg bg-sunken px-3 py-2 font-mono text-sm">
      {text}
    </pre>
  )
}

type NamedSnippetProps = { title: string; copyName: string; text: string; children?: ReactNode }

/** As Snippet under a heading, with a button. */
export function NamedSnippet({ title, copyName, text, children }: NamedSnippetProps) {
  return (
    <div>
      <h3 className="mb-1.5 text-sm font-medium">{title}</h3>
      <Snippet text={text} />
      <div className="mt-2 flex flex-wrap gap-2">
        {children}
        <CopyButton copyName={copyName} text={text} />
      </div>
    </div>
  )
}

/** As Snippet with a small button, amid a text. */
export function Sample({ copyName, text }: { copyName: string; text: string }) {
  const { said, copy } = useCopy(text)
  return (
    <div className="overflow-hidden rounded-lg border border-line bg-sunken">
      <p className="flex items-center justify-end gap-2 border-line border-b px-2 py-1 text-muted text-xs">
        <span role="status">{said}</span>
        <button
          type="button"
          onClick={copy}
          aria-label={copyName}
          className="flex items-center gap-1.5 rounded px-1.5 py-1 font-medium hover:text-ink [&_svg]:size-3.5"
        >
          {said === uiStrings.copy.copied ? <Check aria-hidden /> : <Copy aria-hidden />}
          {uiStrings.copy.copy}
        </button>
      </p>
      <pre className="whitespace-pre-wrap break-words px-3 py-2 font-mono text-sm">{text}</pre>
    </div>
  )
}
