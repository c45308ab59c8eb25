CREATE UNIQUE INDEX "deliveries_at_work" ON "deliveries" USING btree ("channel_id") WHERE state in ('claimed', 'sending');--> statement-breakpoint
CREATE INDEX "deliveries_uncertain" ON "deliveries" USING btree ("channel_id") WHERE state = 'uncertain';--> statement-breakpoint
CREATE INDEX "deliveries_being_read" ON "deliveries" USING btree ("lease_until") WHERE look_token is not null;--> statement-breakpoint
-- Last: its lock keeps everybody from the table, for as long as the rest of the migration takes.
DROP INDEX "deliveries_under_way";
