CREATE INDEX "authorization_requests_session" ON "authorization_requests" USING btree ("session_id");--> statement-breakpoint
CREATE INDEX "sessions_expiry" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
-- Written by hand from here on. The trail is only added to, whoever writes: a bug of ours or a person at the prompt. It is
-- no wall against the table's owner, who can take the triggers away; but that is no slip any more.
CREATE FUNCTION refuse_change_of_trail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	-- A trail is its organisation's and goes with it. In that cascade, and only there, the organisation is gone already.
	IF tg_op = 'DELETE' THEN
		IF NOT EXISTS (SELECT FROM public.organisations WHERE id = old.organisation_id) THEN
			RETURN old;
		END IF;
	END IF;
	RAISE EXCEPTION 'The trail is only added to: % on % is refused.', tg_op, tg_table_name USING ERRCODE = 'restrict_violation';
END $$;--> statement-breakpoint
CREATE TRIGGER activity_never_changed BEFORE UPDATE OR TRUNCATE ON "activity" FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_trail();--> statement-breakpoint
CREATE TRIGGER activity_never_deleted BEFORE DELETE ON "activity" FOR EACH ROW EXECUTE FUNCTION refuse_change_of_trail();
