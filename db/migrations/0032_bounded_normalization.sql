-- PostgreSQL orders a run of combining marks by insertion: a post of 80,000 took 17 s of its processor, and no limit of time
-- ends that. So longer texts are normalized in pieces, which end before white space where there is some.
-- A single expression that finds all pieces, `.{1,150}\S{0,50}`, takes four times as long.
CREATE FUNCTION normalized(whole text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
declare
  rest text := whole;
  piece text;
  pieces text[] := '{}';
begin
  if length(whole) <= 1000 then return normalize(whole, NFKC); end if;
  while rest <> '' loop
    piece := left(rest, 150) || substring(substring(rest, 151, 50) from '^\S*');
    pieces := pieces || normalize(piece, NFKC);
    rest := right(rest, -length(piece));
  end loop;
  return array_to_string(pieces, '');
end
$$;--> statement-breakpoint
CREATE OR REPLACE FUNCTION post_search_row(post uuid) RETURNS TABLE (post_id uuid, organisation_id uuid, texts text, tags text[]) LANGUAGE sql STABLE AS $$
  select p.id, p.organisation_id, lower(public.normalized(p.content || coalesce((
    select string_agg(E'\n' || d.content, '' order by d.position) from public.deliveries d where d.post_id = p.id and d.content is not null
  ), ''))), p.tags
  from public.posts p where p.id = post
$$;--> statement-breakpoint
-- Texts without white space may be cut between a letter and its mark. The command `verify` compares what is here with the
-- function, so both must say the same.
UPDATE "post_search" s SET texts = r.texts FROM "posts" p, post_search_row(p.id) r
  WHERE p.id = s.post_id AND length(s.texts) > 1000 AND r.texts IS DISTINCT FROM s.texts;
