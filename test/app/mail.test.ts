import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accounts } from '../../db/schema/accounts.ts'
import { apps } from '../../db/schema/oauth.ts'
import { anOrganisation } from '../builders.ts'
import { until } from '../processes.ts'
import { linkIn, type MailServer, startMailServer } from '../stand-ins/mail-server.ts'
import { type BrowserSite, browserSite, Password, signUp, withChromium } from './browser.ts'

const hasChromium = withChromium()
const next = 'a quite different one'
let mails: MailServer
let here: BrowserSite

beforeAll(async () => {
  if (!hasChromium) return
  mails = await startMailServer()
  here = await browserSite({ smtpUrl: mails.url })
})
afterAll(async () => {
  await here?.end()
  await mails?.end()
})

const linkWith = (email: string, subject: string) =>
  until(() =>
    mails
      .to(email)
      .filter(({ headers }) => headers.subject === subject)
      .map(linkIn)
      .at(-1),
  )

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

async function fillSignUp(page: Page, email: string, organisation = 'Works') {
  await page.getByRole('heading', { name: 'Create your account' }).waitFor()
  await page.getByLabel('Name', { exact: true }).fill('Ada')
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(Password)
  await page.getByLabel('Organisation').fill(organisation)
  await button(page, 'Create account').click()
}

/** Signs somebody up in the page's browser, by the link in their mail, without forms. */
async function signUpByMail(page: Page): Promise<string> {
  const email = await signUp(page, here.site)
  const headers = { origin: here.site.appUrl }
  await page.request.post(await linkWith(email, 'Finish your sign-up'), { form: { password: Password }, headers })
  return email
}

async function expectAccessible(page: Page) {
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
  expect(violations.map(({ id, nodes }) => `${page.url()} ${id} ${nodes.map(({ html }) => html).join(' ')}`)).toEqual(
    [],
  )
}

async function signIn(page: Page, email: string, password: string) {
  await page.goto('/login')
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

test.each([true, false])(
  'a sign-up goes on by the link in the mail, once, and a second link says that there is an account (scripts: %s)',
  async (javaScriptEnabled) => {
    const email = `una-${javaScriptEnabled}@example.org`
    const page = await here.page({ javaScriptEnabled })
    await page.goto('/signup?next=%2Fchannels')
    await fillSignUp(page, email)
    await page.getByText(`We sent a mail to ${email}. Open the link in the mail to continue.`).waitFor()
    if (javaScriptEnabled) await expectAccessible(page)
    const first = await linkWith(email, 'Finish your sign-up')
    await page.getByRole('link', { name: 'Use another address' }).click()
    await fillSignUp(page, email)
    await page.getByText('We sent a mail').waitFor()
    const second = await until(async () => {
      const link = await linkWith(email, 'Finish your sign-up')
      return link !== first && link
    })

    await page.goto(first)
    await page.getByRole('heading', { name: 'Finish your sign-up' }).waitFor()
    await page.getByText('Works').waitFor()
    if (javaScriptEnabled) await expectAccessible(page)
    await page.getByLabel('Password').fill('another password')
    await button(page, 'Create account').click()
    await page.getByText('This is not the password of this sign-up.').waitFor()
    await page.getByLabel('Password').fill(Password)
    await button(page, 'Create account').click()
    await page.getByRole('heading', { name: 'Channels', exact: true }).waitFor()

    const other = await here.page({ javaScriptEnabled })
    await other.goto(first)
    await other.getByText('This link is too old, or was already used.').waitFor()
    if (javaScriptEnabled) await expectAccessible(other)
    await other.goto(second)
    await other.getByText(`You already have an account with ${email}.`).waitFor()
    if (javaScriptEnabled) await expectAccessible(other)
    await other.getByRole('link', { name: 'Sign in' }).click()
    await other.getByRole('heading', { name: 'Sign in' }).waitFor()
  },
)

test.each([true, false])(
  'a person on the way to the consent page of an app is back there after the link in the mail (scripts: %s)',
  async (javaScriptEnabled) => {
    const { organisationId } = await anOrganisation(here.db, 'Makers')
    const clientId = `pca_${javaScriptEnabled}`
    const redirectUris = ['https://shop.example/back']
    await here.db.insert(apps).values({ organisationId, clientId, name: 'Calendar', redirectUris })
    const path = `/oauth/authorize?client_id=${clientId}&response_type=code&state=a%2Bb%20%C3%A9%26%3D%2f`
    const email = `ida-${javaScriptEnabled}@example.org`
    const page = await here.page({ javaScriptEnabled })
    await page.goto(path)
    await page.getByRole('link', { name: 'Create an account' }).click()
    await fillSignUp(page, email, 'Ida & Co')
    await page.getByText('We sent a mail').waitFor()

    const tab = await page.context().newPage()
    await tab.goto(await linkWith(email, 'Finish your sign-up'))
    await tab.getByLabel('Password').fill(Password)
    await button(tab, 'Create account').click()

    await tab.getByRole('heading', { name: 'Calendar wants to use Ida & Co' }).waitFor()
    expect(tab.url()).toBe(here.site.appUrl + path)
    await page.getByRole('link', { name: 'Sign in' }).click() // the first window goes on too
    await page.getByRole('heading', { name: 'Calendar wants to use Ida & Co' }).waitFor()
  },
)

test.each([true, false])(
  'a forgotten password is reset by the link in the mail (scripts: %s)',
  async (javaScriptEnabled) => {
    const email = await signUpByMail(await here.page())
    const page = await here.page({ javaScriptEnabled })
    await page.goto('/login')
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await page.getByRole('heading', { name: 'Reset your password' }).waitFor()
    if (javaScriptEnabled) await expectAccessible(page)
    await page.getByLabel('E-mail').fill(email)
    await page.getByRole('button', { name: 'Send link' }).click()
    await page.getByText("If there is an account with this address, we've sent a link.").waitFor()
    if (javaScriptEnabled) await expectAccessible(page)

    await page.goto(await linkWith(email, 'Reset your password'))
    if (javaScriptEnabled) await expectAccessible(page)
    await page.getByLabel('New password').fill('short')
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByRole('listitem').getByText('At least 10 characters.').waitFor()
    await page.getByLabel('New password').fill(next)
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText("Password changed. You're signed out everywhere.").waitFor()
    if (javaScriptEnabled) await expectAccessible(page)

    await page.reload()
    await page.getByText('This link is too old, or was already used.').waitFor()
    await signIn(page, email, Password)
    await page.getByRole('alert').getByText('E-mail and password do not match').waitFor()
    await signIn(page, email, next)
    await page.getByRole('heading', { name: 'Posts' }).waitFor()
  },
)

test.each([true, false])('an address is verified by the link in the mail (scripts: %s)', async (javaScriptEnabled) => {
  const page = await here.page({ javaScriptEnabled })
  const email = await signUpByMail(page)
  await here.db.update(accounts).set({ emailVerifiedAt: null }).where(eq(accounts.email, email))
  await page.goto('/settings/account')
  await page.getByText('is not verified yet').waitFor()
  if (javaScriptEnabled) await expectAccessible(page)
  await page.getByRole('button', { name: 'Send again' }).click()
  await page.getByText('Sent. Check your inbox.').waitFor()

  await page.goto(await linkWith(email, 'Verify your e-mail address'))
  if (javaScriptEnabled) await expectAccessible(page)
  await page.getByRole('button', { name: 'Verify address' }).click()
  await page.getByText(`${email} is verified.`).waitFor()
  await page.goto('/settings/account')
  await page.getByLabel('Mail me when a post needs attention').uncheck()
  await page.getByRole('button', { name: 'Save mail settings' }).click()
  await page.getByText('Saved.').waitFor()
  await page.reload()
  await expect.poll(() => page.getByLabel('Mail me when a post needs attention').isChecked()).toBe(false)
  expect(await page.getByText('is not verified yet').count()).toBe(0)
})

test.each([true, false])(
  'a new address waits on the account page until the link in the mail is used (scripts: %s)',
  async (javaScriptEnabled) => {
    const page = await here.page({ javaScriptEnabled })
    const email = await signUpByMail(page)
    const changed = `changed-${email}`
    await page.goto('/settings/account')
    await page.getByLabel('Name', { exact: true }).fill('Ida')
    await askFor(page, changed)
    await page.getByText(`We sent a mail to ${changed}. Open the link in it to use this address.`).waitFor()
    await expect.poll(() => page.getByLabel('E-mail').inputValue()).toBe(email)
    await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe('Ida')
    if (javaScriptEnabled) await expectAccessible(page)
    const first = await linkWith(changed, 'Confirm your new e-mail address')
    await button(page, 'Send link again').click()
    await page.getByText('Sent. Only the newest link works.').waitFor()
    const second = await until(async () => {
      const link = await linkWith(changed, 'Confirm your new e-mail address')
      return link !== first && link
    })

    const other = await here.page({ javaScriptEnabled })
    await other.goto(second)
    await other.getByLabel('E-mail').fill(email)
    await other.getByLabel('Password').fill(Password)
    await button(other, 'Sign in').click()
    await other.getByRole('heading', { name: 'Confirm your new e-mail address' }).waitFor()
    await page.goto(first)
    await page.getByText('replaced by a newer one').waitFor()
    if (javaScriptEnabled) await expectAccessible(page)
    await page.goto(second)
    await page.getByText(changed).waitFor()
    if (javaScriptEnabled) await expectAccessible(page)
    await button(page, 'Use this address').click()
    await page.getByText(`Your account has the address ${changed} now.`).waitFor()
    if (javaScriptEnabled) await expectAccessible(page)
    await page.getByRole('link', { name: 'Go to your account' }).click()
    await expect.poll(() => page.getByLabel('E-mail').inputValue()).toBe(changed)

    await askFor(page, email)
    await button(page, 'Cancel change').click()
    await page.getByText(`Change cancelled. Your account keeps ${changed}.`).waitFor()
    expect(await page.getByText('We sent a mail').count()).toBe(0)
  },
)

/** Asks on the account page for another address, the first time without the password. */
async function askFor(page: Page, email: string) {
  await page.getByLabel('E-mail').fill(email)
  await button(page, 'Save').click()
  await page.getByText('Enter your password.').waitFor()
  await page.getByLabel('Your password').fill(Password)
  await button(page, 'Save').click()
  await page.getByText('We sent a mail').waitFor()
}
