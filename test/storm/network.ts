import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, type Received, startFakeServer } from '../stand-ins/fake-network.ts'
import type { Chance } from './chance.ts'

/** What became of one send: whether the network has it, and whether it said that it does not. */
export type Fate = { isShown: boolean; isDenied: boolean }

const moods = {
  good: 70,
  'fails before': 4,
  'fails after': 4,
  'resets before': 4,
  'resets after': 4,
  'hangs before': 2,
  'hangs after': 2,
  'shows late': 2,
  garbage: 3,
  limits: 3,
  refuses: 1,
}
const HangsMs = 4000 // longer than a send may take
const LateMs = 50 // less than its networks say that a post may take to appear

/** A social network that misbehaves by chance until `calm` is called. Its tokens name whose they are. */
export async function startMoodyNetwork(chance: Chance) {
  const fake = await startFakeServer()
  const fates = new Map<Received, Fate>()
  let isStormy = true
  let refreshes = 0
  fake.isTokenGood = () => !isStormy || !chance.oneIn(200)
  fake.refresh = (token) => (isStormy && chance.oneIn(5) ? 401 : token.replace(/^\w+/, `fresh${++refreshes}`))
  fake.behave = async (request, answer) => {
    const mood = isStormy ? chance.weighted(moods) : 'good'
    const fate = { isShown: false, isDenied: mood === 'limits' || mood === 'refuses' }
    fates.set(request, fate)
    const show = () => {
      fate.isShown = true
      return answer.show()
    }
    await answerIn(mood, { ...answer, show })
  }
  const calm = () => {
    isStormy = false
  }
  return Object.assign(fake, { fates, calm })
}

async function answerIn(mood: keyof typeof moods, { show, reply, reset }: Answer): Promise<void> {
  if (mood === 'good') return reply(200, { id: show() })
  if (mood === 'limits') return reply(429, 'slower', { 'retry-after': '1' })
  if (mood === 'refuses') return reply(400, 'not that')
  if (mood.endsWith('after') || mood === 'garbage') show()
  if (mood === 'garbage') return reply(200, 'thanks')
  if (mood.startsWith('fails')) return reply(500, 'oops')
  if (mood.startsWith('hangs')) await sleep(HangsMs)
  reset()
  if (mood === 'shows late') await sleep(LateMs).then(show)
}
