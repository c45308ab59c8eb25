import { useLocation } from '@remix-run/react'
import { type ReactNode, useEffect, useState } from 'react'
import { Notice } from './notice.tsx'

type DoneProps = { params: string[]; hasUndo: boolean; children: ReactNode }

/**
 * Says what the form before this page did, which its address tells in `params`. A reload does not say it again, and it
 * goes once the person types something new. With Undo it stays: there is no other way back.
 */
export function Done({ params, hasUndo, children }: DoneProps) {
  const { key } = useLocation()
  const [isOver, setIsOver] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each place
  useEffect(() => {
    if (hasUndo) return
    const address = new URL(window.location.href)
    for (const name of params) address.searchParams.delete(name)
    window.history.replaceState(window.history.state, '', address)
    const end = () => setIsOver(true)
    document.addEventListener('input', end, { once: true })
    return () => document.removeEventListener('input', end)
  }, [key])
  return isOver ? null : <Notice>{children}</Notice>
}
