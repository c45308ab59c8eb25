import { RemixBrowser } from '@remix-run/react'
import { StrictMode, startTransition } from 'react'
import { hydrateRoot } from 'react-dom/client'
import { dropAllCopies } from './posts/working-copy/browser-copies.ts'
import { noteEarlyTyping } from './posts/working-copy/early-typing.ts'
import { noteFailedRequests } from './shell/request.tsx'
import { atSignOut } from './shell/sign-out.ts'
import { noteServersClock } from './ui/time/now.ts'

noteEarlyTyping()
noteFailedRequests()
atSignOut(dropAllCopies)
noteServersClock()
startTransition(() => {
  hydrateRoot(
    document,
    <StrictMode>
      <RemixBrowser />
    </StrictMode>,
  )
})
