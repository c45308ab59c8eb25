import { ButtonLink } from '../ui/forms/button.tsx'
import { Logo } from './logo.tsx'
import { landingStrings as strings } from './strings.tsx'

// Of one page on a large and on a small screen.
const Wide = { width: 1280, height: 740 }
const Narrow = { width: 390, height: 620 }
const isNarrow = '(max-width: 639px)'
const isDark = '(prefers-color-scheme: dark)'

/** What a visitor sees at `/`: what Punctual does, how it looks, and the way in. */
export function Landing({ signupOpen }: { signupOpen: boolean }) {
  return (
    <div className="mx-auto max-w-4xl">
      <Logo className="size-11" />
      <h1 tabIndex={-1} className="mt-6 text-balance text-3xl font-semibold tracking-tight sm:text-4xl">
        {strings.title}
      </h1>
      <ul className="mt-5 max-w-2xl space-y-2 text-lg text-muted">
        {strings.promises.map((promise) => (
          <li key={promise}>{promise}</li>
        ))}
      </ul>
      <div className="mt-7 flex flex-wrap gap-3">
        {signupOpen ? (
          <ButtonLink to="/signup" look="primary">
            {strings.signUp}
          </ButtonLink>
        ) : null}
        <ButtonLink to="/login" look={signupOpen ? 'plain' : 'primary'}>
          {strings.signIn}
        </ButtonLink>
      </div>
      <picture>
        <source srcSet="/product-narrow-dark.webp" media={`${isNarrow} and ${isDark}`} {...Narrow} />
        <source srcSet="/product-narrow-light.webp" media={isNarrow} {...Narrow} />
        <source srcSet="/product-wide-dark.webp" media={isDark} {...Wide} />
        <img
          src="/product-wide-light.webp"
          alt={strings.picture}
          {...Wide}
          className="mt-10 h-auto w-full rounded-2xl border border-line shadow-md"
        />
      </picture>
    </div>
  )
}
