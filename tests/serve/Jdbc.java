import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** Does by JDBC what programs and tools do by it, and says what comes of it, a line for each. */
public class Jdbc {
    private static void say(String what, ResultSet rows, String... columns) throws SQLException {
        List<String> found = new ArrayList<>();
        while (rows.next()) {
            List<String> values = new ArrayList<>();
            for (String each : columns) values.add(rows.getString(each));
            found.add(String.join("|", values));
        }
        System.out.println(what + ": " + String.join(", ", found));
    }

    private static void metadata(DatabaseMetaData told) throws SQLException {
        String[] kinds = {"TABLE", "MATERIALIZED VIEW"};
        say("tables", told.getTables(null, "eu", "%", kinds), "TABLE_NAME", "TABLE_TYPE");
        say("columns", told.getColumns(null, "eu", "sale", "%"), "COLUMN_NAME", "DATA_TYPE", "NULLABLE");
        say("primary", told.getPrimaryKeys(null, "eu", "item"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME");
        String[] keys = {"PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME", "PK_NAME"};
        say("imported", told.getImportedKeys(null, "eu", "sale"), keys);
        say("exported", told.getExportedKeys(null, "eu", "item"), keys);
        say("indexes", told.getIndexInfo(null, "eu", "item", false, true), "INDEX_NAME", "COLUMN_NAME", "ASC_OR_DESC");
        System.out.println("keywords: " + !told.getSQLKeywords().isEmpty());
        told.getTypeInfo().close();
        told.getFunctions(null, null, "%").close();
        told.getBestRowIdentifier(null, "eu", "item", DatabaseMetaData.bestRowSession, true).close();
        told.getTablePrivileges(null, "eu", "item").close();
    }

    private static void rows(Connection client) throws SQLException {
        String insert = "INSERT INTO eu.item (id, name, price, stamp, day, tz) VALUES (?, ?, ?, ?, ?, ?)";
        try (PreparedStatement made = client.prepareStatement(insert)) {
            made.setLong(1, 1);
            made.setString(2, "ink");
            made.setBigDecimal(3, new BigDecimal("2.50"));
            made.setTimestamp(4, Timestamp.valueOf("2024-02-29 12:00:00.5"));
            made.setDate(5, Date.valueOf("2024-02-29"));
            made.setObject(6, OffsetDateTime.parse("2024-02-29T12:00:00+02:00"));
            System.out.println("inserted: " + made.executeUpdate());
        }
        String select = "SELECT name, price, stamp, day, tz FROM eu.item WHERE id = ? AND stamp > ?";
        try (PreparedStatement asked = client.prepareStatement(select)) {
            for (int time = 0; time < 7; time++) { // from the sixth on by a prepared statement, in binary form
                asked.setLong(1, 1);
                asked.setTimestamp(2, Timestamp.valueOf("2024-02-29 11:59:59"));
                ResultSet row = asked.executeQuery();
                row.next();
                String last = row.getObject(5, OffsetDateTime.class).toString();
                if (time == 6) {
                    System.out.println("row: " + row.getString(1) + "|" + row.getBigDecimal(2) + "|" + row.getTimestamp(3)
                        + "|" + row.getDate(4) + "|" + last);
                }
            }
        }
    }

    private static void batches(Connection client) throws SQLException {
        try (PreparedStatement many = client.prepareStatement("INSERT INTO eu.sale VALUES (?, ?)")) {
            for (int n = 0; n < 100; n++) {
                many.setLong(1, 1);
                many.setInt(2, n);
                many.addBatch();
            }
            System.out.println("batch: " + many.executeBatch().length);
            for (int n = 150; n >= 99; n--) {
                many.setLong(1, 1);
                many.setInt(2, n);
                many.addBatch();
            }
            many.executeBatch();
        } catch (SQLException error) {
            System.out.println("refused: " + error.getSQLState());
        }
        client.setAutoCommit(false);
        try (Statement asked = client.createStatement()) {
            asked.setFetchSize(7);
            ResultSet rows = asked.executeQuery("SELECT n FROM eu.sale ORDER BY n");
            int count = 0;
            while (rows.next()) count++;
            System.out.println("fetched: " + count);
        }
        client.commit();
        client.setAutoCommit(true);
    }

    private static void statements(Connection client) throws Exception {
        try (Statement some = client.createStatement()) {
            some.addBatch("INSERT INTO eu.sale VALUES (1, 200)");
            some.addBatch("UPDATE eu.sale SET n = 201 WHERE n = 200");
            some.addBatch("DELETE FROM eu.sale WHERE n = 201");
            List<String> counts = new ArrayList<>();
            for (int each : some.executeBatch()) counts.add(String.valueOf(each));
            System.out.println("counts: " + String.join(", ", counts));
        }
        String insert = "INSERT INTO eu.item (id, name) VALUES (7, 'seven')";
        try (PreparedStatement made = client.prepareStatement(insert, Statement.RETURN_GENERATED_KEYS)) {
            made.executeUpdate();
            ResultSet keys = made.getGeneratedKeys();
            keys.next();
            System.out.println("returned: " + keys.getLong("id"));
        }
        client.setReadOnly(true);
        client.setAutoCommit(false);
        try (Statement none = client.createStatement()) {
            none.executeUpdate("DELETE FROM eu.sale");
        } catch (SQLException error) {
            System.out.println("read only: " + error.getSQLState());
        }
        client.rollback();
        client.setAutoCommit(true);
        client.setReadOnly(false);
        org.postgresql.PGConnection own = client.unwrap(org.postgresql.PGConnection.class);
        String lines = "1,300\n1,301\n";
        long copied = own.getCopyAPI().copyIn("COPY eu.sale FROM STDIN WITH (FORMAT csv)", new java.io.StringReader(lines));
        System.out.println("copied: " + copied);
    }

    public static void main(String[] given) throws Exception {
        Properties who = new Properties();
        who.put("user", "ada");
        try (Connection client = DriverManager.getConnection(given[0], who)) {
            metadata(client.getMetaData());
            rows(client);
            batches(client);
            statements(client);
        }
    }
}
