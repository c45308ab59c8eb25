/**
 * A part of a text that may be a link, in UTF-16 units. It begins at `start`. Up to `certainEnd` it certainly is a link
 * (if that is `start`, it may be none). If it is a link, it has at least the length `shortest`.
 */
export type PossibleLink = { start: number; certainEnd: number; shortest: number }

const Scheme = '(?:https?|dat|dweb|ipfs|ipns|ssb|gopher|gemini)://'
const Solid = '[^\\p{White_Space}]'
const Possible = new RegExp(`${Scheme}(?:(?!${Scheme})${Solid})*`, 'giu')
const LongestLink = 2000 // Mastodon recognises none beyond 4,096
const Run = new RegExp(`${Solid}+`, 'uy')
const ShortestHost = 'a.co'.length

// Every version of Mastodon recognises links with these top-level domains. Only some versions know newer ones.
const Country = `
  ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bv bw by bz ca
  cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr
  ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm
  jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq
  mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa
  re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn
  to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw`
const Generic = `
  com org net edu gov mil int info biz name pro aero asia coop jobs mobi museum tel travel academy agency app art audio bank
  berlin best bio blog blue book build business cafe camp care casa center chat city club codes coffee community company
  computer cool dance date deals design dev digital directory dog earth education email energy engineering events exchange
  expert family fans farm film finance fish fit foundation fund fyi gallery game games garden gift global gmbh graphics
  green group guide guru haus health help host hosting house how immo ink institute international kim kitchen koeln land lat
  law legal lgbt life link live lol london love ltd market marketing media moe money network news ninja nyc one ong
  online ooo page paris partners party photo photography photos pics pictures pink pizza place plus press promo pub
  red report rest restaurant review reviews rip rocks run sale school science security services shop show site ski
  social software solutions space store stream studio style support surf systems team tech technology tips today tokyo
  tools top tours town toys trade training tube university uno vegas video vip vision vote voyage wales watch website wiki
  win wine work works world wtf xyz yoga zone`
const Label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const Host = `(?!t\\.co[/:?#])(?!xn--)(?:(?!xn--)${Label}\\.){1,8}(?:${words(Country + Generic).join('|')})`
const HostEnds = '(?=$|[\\s/?#:,!;)"]|\\.(?:$|\\s))'
const Path = '(?:/(?:[\\w\\-.~%+=#&@:;,!/]{0,2000}[\\w#+\\-/])?)?'
const Query = '(?:\\?[\\w\\-.~%+=#&@:;,!/?]{0,2000}[\\w#&=\\-/])?'
const Certain = new RegExp(`https?://${Host}${HostEnds}(?::\\d{1,5})?${Path}${Query}`, 'iy')

/**
 * The parts of `text` that a server may count as links, in order.
 *
 * Certain is what Mastodon recognises as a link (https://github.com/mastodon/mastodon,
 * config/initializers/twitter_regex.rb, and the library twitter-text). Its link may be longer, never shorter.
 */
export function possibleLinks(text: string): PossibleLink[] {
  let runEnd = 0 // where the current run without spaces ends
  return [...text.matchAll(Possible)].map(({ 0: all, index: start }) => {
    if (start >= runEnd) runEnd = endOf(Run, text, start)
    const isTooLong = runEnd - start > LongestLink
    const certainEnd = isTooLong ? start : Math.min(certainEndOf(text, start), start + all.length)
    const shortest = Math.min(all.indexOf('//') + '//'.length + ShortestHost, all.length)
    return { start, certainEnd, shortest }
  })
}

function certainEndOf(text: string, start: number): number {
  const isApart = start === 0 || ' \n\r\t('.includes(text.charAt(start - 1))
  return isApart ? endOf(Certain, text, start) : start
}

/** The end of the match of `sticky` that begins at `start`. If there is none: `start`. */
function endOf(sticky: RegExp, text: string, start: number): number {
  sticky.lastIndex = start
  return start + (sticky.exec(text)?.[0].length ?? 0)
}

function words(list: string): string[] {
  return list.trim().split(/\s+/)
}
