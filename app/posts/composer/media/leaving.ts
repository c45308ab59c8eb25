import { useBlocker } from '@remix-run/react'
import { useEffect } from 'react'
import { composerStrings } from '../strings.tsx'

/** Ask before the page is left while files upload: they would be lost. */
export function useAskBeforeLeaving(isUploading: boolean): void {
  useEffect(() => {
    if (!isUploading) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    window.addEventListener('beforeunload', ask)
    return () => window.removeEventListener('beforeunload', ask)
  }, [isUploading])

  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => isUploading && currentLocation.pathname !== nextLocation.pathname,
  )
  useEffect(() => {
    if (blocker.state !== 'blocked') return
    if (window.confirm(composerStrings.media.leave)) blocker.proceed()
    else blocker.reset()
  }, [blocker])
}
