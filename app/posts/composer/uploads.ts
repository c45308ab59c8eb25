import { useState } from 'react'
import type { Media } from '../../../server/media/media.ts'
import { composerStrings } from './strings.tsx'

export type Picked = Pick<Media, 'id' | 'kind' | 'url' | 'thumbnailUrl' | 'alt'>
type Refused = { name: string; problem: string }

/** The files of a post that is being written: those it has, and those that upload while the person goes on writing. */
export function useUploads(initial: Picked[]) {
  const [media, setMedia] = useState(initial)
  const [coming, setComing] = useState(0)
  const [refused, setRefused] = useState<Refused[]>([])

  async function add(files: File[]) {
    setRefused([])
    setComing((count) => count + files.length)
    for (const file of files) {
      const answer = await upload(file)
      if (answer.media) setMedia((before) => [...before, answer.media])
      else setRefused((before) => [...before, { name: file.name, problem: answer.problem }])
      setComing((count) => count - 1)
    }
  }

  const remove = (id: string) => setMedia((before) => before.filter((one) => one.id !== id))
  const setAlt = (id: string, alt: string) =>
    setMedia((before) => before.map((one) => (one.id === id ? { ...one, alt } : one)))
  return { media, coming, refused, add, remove, setAlt, replace: setMedia }
}

type Answer = { media: Media; problem?: never } | { media?: never; problem: string }

async function upload(file: File): Promise<Answer> {
  const body = new FormData()
  body.set('file', file)
  const answer = await fetch('/media', { method: 'POST', body }).catch(() => null)
  if (!answer) return { problem: composerStrings.media.notSent }
  const isOurs = answer.headers.get('content-type')?.includes('json') // anything else is a page: signed out, or an error
  return isOurs ? answer.json() : { problem: composerStrings.media.notAccepted }
}
