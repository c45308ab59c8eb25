/** A sentence of the API's own words, in which backticks mark what is code. */
export function WithCode({ text }: { text: string }) {
  return text.split('`').map((part, i) =>
    i % 2 === 0 ? (
      part
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts never change places
      <code key={i} className="break-words font-mono text-[0.92em]">
        {part}
      </code>
    ),
  )
}
